import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lateNoticesId } from '../../src/domain/workflow-ids.js';
import { renewTokenSignal } from '../../src/workflows/messages.js';
import type { lateNotices } from '../../src/workflows/notify/late-notices.js';
import { apiError } from '../activities/service.js';
import { keepHistory } from '../replay/histories.js';
import { startReplayer } from '../replay/replayer.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import { type NotifyReceiver, numberOf, startNotifyReceiver } from '../support/notify/receiver.js';
import type { FollowHandle } from '../support/order/stack.js';
import {
  onSkippedTime,
  reading,
  scripted,
  startTimeSkippingStack,
  type TimeSkippingStack,
  virtualTime,
} from '../support/order/time-skipping.js';
import { continued, eventsOf } from '../support/runs.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** The service takes orders up to 30 days ahead. Virtual time takes real time, too: 5 ms for each read. */
const isRecording = process.env.FARETRAIL_TEST_RECORD !== undefined;
const daysAhead = isLong ? 30 : 5;

let receiver: NotifyReceiver;
let stack: TimeSkippingStack;
const startStack = () => startTimeSkippingStack(receiver.env);
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  stack = await startStack();
});
beforeEach(async ({ task }) => {
  stack = await onSkippedTime(stack, task, startStack);
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

describe('at the default cadence, in virtual time', virtualTime, () => {
  it('a ride of four hours and eight statuses, read 300 times, ends with the right timeline in at most 110 events', async () => {
    const handle = await stack.start(scripted(fourHours));
    const trail = await handle.result();
    expect(trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(trail.timeline.map(({ status }) => status)).toEqual(fourHours.map(([status]) => status));
    const [first] = trail.timeline;
    for (const [index, { at, status }] of trail.timeline.entries()) {
      const lateMs = Date.parse(at) - Date.parse(first?.at ?? '') - (fourHours[index]?.[1] ?? 0);
      expect(lateMs, status).toBeGreaterThanOrEqual(0);
      // CareReq is read every two minutes, anything else at least once a minute; plus a tenth of jitter.
      expect(lateMs, status).toBeLessThanOrEqual(2.3 * minute);
    }
    expect(trail.reads).toBe(stack.reads.length);
    expect(stack.reads.length).toBeGreaterThan(300);
    expect((await eventsOf(handle)).length).toBeLessThanOrEqual(110);
    expect(stack.tokenRequests.length).toBeLessThanOrEqual(5);
  });

  it(`an order reserved ${daysAhead} days ahead is followed to its end in at most 100 events`, async () => {
    const { onTokenRequest } = stack;
    // Its renewals would cost as much time as the reads, and are none of this order's events.
    stack.onTokenRequest = (now) => ({ ...onTokenRequest(now), lifetimeMs: 2 * daysAhead * day });
    const pickUpMs = daysAhead * day;
    const scheduledAt = new Date((await stack.env.currentTimeMs()) + pickUpMs).toISOString();
    const script: [string, number][] = [
      ['Reserved', 0],
      ['Routing', pickUpMs - 20 * minute],
      ['Confirmed', pickUpMs - 10 * minute],
      ['Waiting', pickUpMs],
      ['Driving', pickUpMs + 5 * minute],
      ['Completed', pickUpMs + hour],
    ];
    const handle = await stack.start(scripted(script), { scheduledAt });
    const trail = await handle.result();
    expect(trail).toMatchObject({ outcome: 'completed' });
    expect(trail.timeline.map(({ status }) => status)).toEqual(script.map(([status]) => status));
    expect((await eventsOf(handle)).length).toBeLessThanOrEqual(100);
  }, 300_000);
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
    const replayer = startReplayer();
    await replayer.replay(history, invented.workflowId);
    await replayer.close();
  },
);

it('a token can be read although this server drops the memo of a run that continues as new', virtualTime, async () => {
  const lease = await stack.startLease({ maxEvents: 8 });
  await lease.signal(renewTokenSignal, { insteadOf: null });
  await continued(lease);
  const memo = { lease: { token: { id: expect.any(String) } } };
  await expect.poll(async () => (await lease.describe()).memo).toMatchObject(memo);
  await lease.terminate();
});

/** The run that goes on to tell URLs after the end of this one, which had told them of `last` things. */
const lateOf = ({ workflowId: about, firstExecutionRunId: firstRunId }: FollowHandle, last: number) =>
  stack.env.client.workflow.getHandle<typeof lateNotices>(lateNoticesId({ about, firstRunId, last }));

/** When a run began and ended, in milliseconds. */
async function timesOf(run: Pick<FollowHandle, 'describe'>): Promise<{ began: number; ended: number }> {
  const { startTime, closeTime } = await run.describe();
  return { began: startTime.getTime(), ended: closeTime?.getTime() ?? Number.NaN };
}

it('a URL that stays silent delays no end of a run, and is given up a day after each change', virtualTime, async () => {
  receiver.answer('/down', 503);
  const notify = ['/down', '/up'].map((path) => ({ url: `${receiver.origin}${path}` }));
  const handle = await stack.start((elapsedMs) => reading(elapsedMs < 2 * hour ? 'Driving' : 'Completed'), { notify });
  expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  expect(receiver.taken('/up')).toEqual(['Driving', 'Completed']);
  const { began, ended } = await timesOf(handle);
  expect(ended - began).toBeLessThan(2.1 * hour);

  const late = lateOf(handle, 2);
  const { missed } = await late.result();
  expect(missed).toEqual([expect.stringMatching(/^notify 0, .*, 2, last no\. 2: given up after a day$/)]);
  const toldForMs = (await timesOf(late)).ended - began;
  expect(toldForMs).toBeGreaterThan(25.5 * hour);
  expect(toldForMs).toBeLessThan(26.5 * hour);
  const tried = receiver.received.filter(({ path }) => path === '/down');
  expect(new Set(tried.map(({ event }) => event.data.rawStatus))).toEqual(new Set(['Driving', 'Completed']));
  expect(tried.length, 'from 2 s to every ten minutes').toBeLessThan(200);
});

// Time is not skipped while a request is under way, so this takes a quarter of a minute.
it.runIf(isLong)(
  'a URL whose answer hangs at the end is told again once that request must be over',
  virtualTime,
  async () => {
    const release = receiver.hold('/hangs');
    const handle = await stack.start(scripted([['Completed', 0]]), { notify: [{ url: `${receiver.origin}/hangs` }] });
    expect(await handle.result()).toMatchObject({ outcome: 'completed' });
    release();
    const late = lateOf(handle, 1);
    expect(await late.result()).toEqual({ missed: [] });
    const ids = receiver.received.filter(({ path }) => path === '/hangs').map(numberOf);
    expect(ids).toEqual(Array(2).fill(`msg_${handle.firstExecutionRunId}_1`)); // the same id both times
    const { began, ended } = await timesOf(late);
    expect(ended - began).toBeGreaterThan(13_000);
  },
);
