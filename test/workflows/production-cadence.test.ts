import { setTimeout as pause } from 'node:timers/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { startReplayer } from '../../dev/replay/replayer.js';
import { apiError } from '../activities/service.js';
import { keepHistory } from '../replay/histories.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import { noticesOf } from '../support/notify/notices.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import type { FollowHandle } from '../support/order/stack.js';
import {
  every,
  onSkippedTime,
  reading,
  scripted,
  startTimeSkippingStack,
  type TimeSkippingStack,
  virtualTime,
} from '../support/order/time-skipping.js';
import { eventsOf, runsOf } from '../support/runs.js';

const minute = 60_000;
const hour = 60 * minute;
const isRecording = process.env.FARETRAIL_TEST_RECORD !== undefined;

let receiver: NotifyReceiver;
let stack: TimeSkippingStack;
const startStack = () => startTimeSkippingStack(receiver.env);
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  stack = await startStack();
});
beforeEach(async ({ task }) => {
  stack = await onSkippedTime(stack, task, startStack);
  for (const seen of [stack.reads, stack.tokenRequests, stack.taken]) seen.length = 0;
  stack.attempts.clear();
  stack.hasWatch = true;
});
afterAll(async () => {
  await stack.close();
  await receiver.close();
});

const fourHours: [string, number][] = [
  ['Pending', 0],
  ['Routing', 5 * minute],
  ['Confirmed', 30 * minute],
  ['Waiting', 60 * minute],
  ['Driving', 75 * minute],
  ['CareReq', 150 * minute],
  ['Driving', 165 * minute],
  ['Completed', 4 * hour],
];

/** When the script changes the status. */
const changesOf = (script: [string, number][]): number[] => script.slice(1).map(([, fromMs]) => fromMs);

describe('an order of which the watch tells each change', virtualTime, () => {
  it('of four hours and eight statuses is read eight times, and ends with the right timeline in at most 100 events', async () => {
    const handle = await stack.start(scripted(fourHours));
    await stack.hint(handle, changesOf(fourHours));
    const trail = await handle.result();
    expect(trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(trail.timeline.map(({ status }) => status)).toEqual(fourHours.map(([status]) => status));
    const [first] = trail.timeline;
    for (const [index, { at, status }] of trail.timeline.entries()) {
      const lateMs = Date.parse(at) - Date.parse(first?.at ?? '') - (fourHours[index]?.[1] ?? 0);
      expect(Math.abs(lateMs), status).toBeLessThanOrEqual(10_000);
    }
    expect(trail.reads).toBe(fourHours.length);
    expect(stack.reads.length).toBe(fourHours.length);
    expect((await eventsOf(handle)).length).toBeLessThanOrEqual(100);
    expect(stack.tokenRequests.length).toBeLessThanOrEqual(5);
    expect(stack.taken).toMatchObject([{ rawStatus: 'Pending', scheduledAt: null, pushed: false }]);
  });

  it('hands its status to the watch in our word, whatever the service calls it', async () => {
    const requested = { ...reading('Pending'), rawStatus: 'REQUESTED' };
    const handle = await stack.start((elapsedMs) => (elapsedMs < 60_000 ? requested : reading('Completed')));
    await stack.hint(handle, [60_000]);
    expect((await handle.result()).timeline).toMatchObject([{ status: 'Pending', rawStatus: 'REQUESTED' }, {}]);
    expect(stack.taken).toMatchObject([{ rawStatus: 'Pending' }]);
  });
});

describe('a requested ride', virtualTime, () => {
  it('of four hours reads thirteen times whether its order has ended, and once more when the order says so', async () => {
    const ride = await stack.startRide(scripted(fourHours));
    await expect.poll(() => stack.reads.length).toBeGreaterThan(0);
    await stack.hint(ride.order, changesOf(fourHours));
    expect(await ride.result()).toMatchObject({ outcome: 'completed' });
    expect(stack.attempts.get('awaitFollowed')).toBeLessThanOrEqual(14);
  });

  it('follows its order again within half an hour after a person has terminated the run of the order', async () => {
    const ride = await stack.startRide(() => reading('Driving'));
    await expect.poll(() => stack.reads.length).toBeGreaterThan(0);
    await stack.env.sleep(2 * hour);
    await ride.order.terminate();
    await stack.env.sleep(31 * minute);
    expect(await ride.query('rideStatus')).toMatchObject({ followedAgain: { times: 1 } });
    await ride.terminate();
  });
});

const asked = 10; // temporal.api.enums.v1.EventType: ACTIVITY_TASK_SCHEDULED

/**
 * Awaits the end of a run that continues as new. Where it does so in the task in which it asks for an activity, the server's clock would
 * stand still for ever, since it waits for that activity; this lets it go.
 */
async function endOf(handle: FollowHandle) {
  const { client, connection } = stack.env;
  let isOver = false;
  const end = handle.result().finally(() => {
    isOver = true;
  });
  for (let freed = 0; !isOver; await pause(300)) {
    const runs = (await runsOf(client, handle.workflowId)) as { eventType?: number | null }[][];
    const stuck = runs.slice(1).filter((events) => events.at(-2)?.eventType === asked).length;
    for (; freed < stuck; freed += 1) await connection.testService?.unlockTimeSkipping({});
  }
  return await end;
}

it(
  'an order that no watch takes is read by its run, ever more slowly, in runs that stay short',
  virtualTime,
  async () => {
    stack.hasWatch = false;
    const handle = await stack.start((elapsedMs) => reading(elapsedMs < 14 * hour ? 'Driving' : 'Completed'));
    expect(await endOf(handle)).toMatchObject({ outcome: 'completed', attention: null });
    const gaps = stack.reads.slice(1).map((at, index) => Math.round((at - (stack.reads[index] ?? 0)) / 1_000));
    // The server's clock goes on while it waits for a busy worker.
    for (const [at, seconds] of [60, 120, 240, 480, 600, 600].entries()) {
      expect(gaps[at]).toBeGreaterThanOrEqual(seconds);
      expect(gaps[at]).toBeLessThan(seconds + 30);
    }
    const runs = await runsOf(stack.env.client, handle.workflowId);
    expect(runs.length).toBeGreaterThan(1);
    expect(gaps.filter((seconds) => seconds < 600).length).toBeLessThanOrEqual(4 * runs.length); // each run begins anew
    expect(Math.max(...runs.map(({ length }) => length))).toBeLessThanOrEqual(520); // 500, and what the last task adds
  },
);

it('a pick-up that a caller names later takes the place of a hand-over that still waits', virtualTime, async () => {
  stack.hasWatch = false;
  const handle = await stack.start(() => reading('Driving'));
  const handOvers = async () => {
    const events = await eventsOf(handle);
    const begun = events.filter(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'watchOrder',
    );
    return [begun.length, events.filter((event) => event.activityTaskCancelRequestedEventAttributes).length];
  };
  await expect.poll(handOvers).toEqual([1, 0]);
  await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z' });
  await expect.poll(handOvers).toEqual([2, 1]);
  await handle.terminate();
});

it(
  'an order that deliveries name and the service does not know is given up after a quarter of an hour, and replays so',
  virtualTime,
  async () => {
    const other = await stack.start(() => reading('Driving'));
    const invented = await stack.start(() => {
      throw apiError('ORDER_UNKNOWN', undefined, 'not_found');
    });
    await deliver(invented, newDelivery());
    await stack.hint(other, every(minute, 22 * minute));
    await expect(invented.result()).rejects.toMatchObject({ cause: { type: 'OrderNotFound' } });
    const { startTime, closeTime } = await invented.describe();
    const minutes = ((closeTime?.getTime() ?? 0) - startTime.getTime()) / minute;
    expect(minutes).toBeGreaterThan(15);
    expect(minutes).toBeLessThan(22);
    await other.terminate();
    const history = await invented.fetchHistory();
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    if (started) started.workflowId = invented.workflowId; // Temporal's test server leaves it out
    if (isRecording) keepHistory('order-that-a-stranger-named', historyToJSON(history));
    const replayer = startReplayer({ codePath: inject('workflowBundlePath') });
    await replayer.replay(history, invented.workflowId);
    await replayer.close();
  },
);

/** When a run began and ended, in milliseconds. */
async function timesOf(run: Pick<FollowHandle, 'describe'>): Promise<{ began: number; ended: number }> {
  const { startTime, closeTime } = await run.describe();
  return { began: startTime.getTime(), ended: closeTime?.getTime() ?? Number.NaN };
}

it('a URL that stays silent delays no end of a run, and is given up a day after each change', virtualTime, async () => {
  receiver.answer('/down', 503);
  const notify = [{ url: `${receiver.origin}/down` }];
  const handle = await stack.start((elapsedMs) => reading(elapsedMs < 2 * hour ? 'Driving' : 'Completed'), { notify });
  await stack.hint(handle, [2 * hour]);
  expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  const { began, ended } = await timesOf(handle);
  expect(ended - began).toBeLessThan(2.1 * hour);

  const late = noticesOf(stack.env, handle);
  const { missed } = await late.result();
  expect(missed).toEqual({ count: 2, last: 2, why: 'given up after a day' });
  // Both may be sent again for a week.
  const toldForMs = (await timesOf(late)).ended - began - 7 * 24 * hour;
  expect(toldForMs).toBeGreaterThan(25.5 * hour);
  expect(toldForMs).toBeLessThan(26.5 * hour);
  const tried = receiver.received.filter(({ path }) => path === '/down');
  expect(new Set(tried.map(({ event }) => event.data.rawStatus))).toEqual(new Set(['Driving', 'Completed']));
  expect(tried.length, 'from 2 s to every ten minutes').toBeLessThan(200);
});
