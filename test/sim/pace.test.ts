import { describe, expect, it } from 'vitest';
import { fourHourRide } from '../../dev/bench/rides.js';
import { isTokenRequest } from '../../dev/sim/world/service.js';
import { withChanges, workerConfig } from '../../dev/sim/world/settings.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { toOrderId } from '../../src/domain/keys.js';
import type { WatchOrderInput } from '../../src/domain/watch.js';
import { followOrderId, requestRideId } from '../../src/domain/workflow-ids.js';
import { rideStatusQuery } from '../../src/workflows/messages.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import { eventsOf, runsOf } from '../support/runs.js';
import { day, hour, type SimulatedRun, type SimulatedStack, startSimulatedStack } from '../support/sim/stack.js';

const second = 1_000;
const minute = 60 * second;

/** What the run hands to the watch, each time. */
const handedOver = async (run: SimulatedRun): Promise<WatchOrderInput[]> =>
  (await eventsOf(run)).flatMap(({ activityTaskScheduledEventAttributes: asked }) =>
    asked?.activityType?.name === 'nextReading'
      ? [JSON.parse(Buffer.from(asked.input?.payloads?.[0]?.data ?? []).toString()) as WatchOrderInput]
      : [],
  );

describe('an order of which polls find each change', () => {
  it('of four hours and eight statuses ends with the right timeline in at most 65 events', async () => {
    const stack = startSimulatedStack();
    const startedAt = stack.world.scheduler.now;
    const run = await stack.follow(fourHourRide);
    const trail = await run.result();
    expect(trail).toMatchObject({ outcome: 'completed', attention: null });
    // Polls found all that followed. The first attempt may have had to wait for the token.
    expect(trail.reads).toBeOneOf([1, 2]);
    expect(trail.timeline.map(({ status }) => status)).toEqual(fourHourRide.map(([status]) => status));
    for (const [index, { at, status }] of trail.timeline.entries()) {
      const lateMs = Date.parse(at) - startedAt - (fourHourRide[index]?.[1] ?? 0);
      // A sixtieth of the status's age, at most a minute; five minutes while customer care has the order.
      const pace = trail.timeline[index - 1]?.status === 'CareReq' ? 5 * minute : minute;
      expect(lateMs, status).toBeLessThan(1.1 * pace + 10 * second);
    }
    expect((await eventsOf(run)).length).toBeLessThanOrEqual(65);
    // A token lasts a quarter of an hour.
    expect(stack.calls(isTokenRequest).length).toBeLessThanOrEqual(18);
    const shown = (await handedOver(run)).map(({ rawStatus }) => rawStatus);
    expect(shown).toEqual(fourHourRide.slice(0, -1).map(([status]) => status));
  });

  it('is handed to the watch in our word, whatever the service calls its status', async () => {
    const profile = parseContractProfile({ statuses: { words: { REQUESTED: 'Pending' } } });
    const stack = startSimulatedStack({ config: withChanges(workerConfig(), { profile }) });
    const run = await stack.follow([
      ['REQUESTED', 0],
      ['Completed', minute],
    ]);
    expect((await run.result()).timeline).toMatchObject([{ status: 'Pending', rawStatus: 'REQUESTED' }, {}]);
    expect(await handedOver(run)).toMatchObject([{ rawStatus: 'Pending' }]);
  });
});

/** Requests a ride whose order plays this script, as a caller does, and awaits its order. */
async function requestRide({ start, ask, sleep, account, runOf }: SimulatedStack) {
  const key = { account, requestId: 'r1' };
  const ride = await start('requestRide', requestRideId(key), [{ ...key, order: newRide() }]);
  await sleep(minute);
  const { orderId } = await ask(({ workflow }) => workflow.getHandle(ride.workflowId).query(rideStatusQuery));
  if (orderId === null) throw new Error('the ride has no order');
  return { ride, order: runOf(followOrderId({ account, orderId })) };
}

describe('a requested ride', () => {
  it('of four hours asks eight times whether its order has ended, and once more when the order says so', async () => {
    const script = fourHourRide.map(([status, afterMs]) => ({ status, afterMs }));
    const { ride } = await requestRide(startSimulatedStack({ sandbox: { rides: { script } } }));
    expect(await ride.result()).toMatchObject({ outcome: 'completed' });
    const events = await eventsOf(ride);
    const attempts = events.flatMap(({ activityTaskStartedEventAttributes: begun }) => {
      const asked = begun && events[Number(begun.scheduledEventId) - 1]?.activityTaskScheduledEventAttributes;
      return asked?.activityType?.name === 'awaitFollowed' ? [begun?.attempt ?? 0] : [];
    });
    expect(attempts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(9);
  });

  it('follows its order again within half an hour after a person has terminated the run of the order', async () => {
    const stack = startSimulatedStack({ sandbox: { rides: { script: [{ status: 'Driving', afterMs: 0 }] } } });
    const { ride, order } = await requestRide(stack);
    await stack.sleep(2 * hour);
    await order.terminate();
    await stack.sleep(31 * minute);
    expect(await ride.query('rideStatus')).toMatchObject({ followedAgain: { times: 1 } });
  });
});

describe('an order that no watch takes', () => {
  it('is read by its run, ever more slowly, in runs that stay short', async () => {
    const stack = startSimulatedStack({ watch: 'none' });
    const run = await stack.follow([
      ['Driving', 0],
      ['Completed', 14 * hour],
    ]);
    expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
    const reads = stack.calls();
    const gaps = reads.slice(1).map((at, index) => Math.round((at - (reads[index] ?? 0)) / second));
    for (const [at, seconds] of [60, 120, 240, 480, 600, 600].entries()) {
      expect(gaps[at]).toBeGreaterThanOrEqual(seconds - 5); // some tasks are slow
      expect(gaps[at]).toBeLessThan(seconds + 10);
    }
    const runs = await stack.ask((client) => runsOf(client, run.workflowId));
    expect(runs.length).toBeGreaterThan(1);
    expect(gaps.filter((seconds) => seconds < 590).length).toBeLessThanOrEqual(4 * runs.length); // each run begins anew
    expect(Math.max(...runs.map(({ length }) => length))).toBeLessThanOrEqual(520); // 500, and what the last task adds
  });

  it('tells the watch of the pick-up that a caller names, beside the read that is pending', async () => {
    const stack = startSimulatedStack({ watch: 'none' });
    const key = { account: stack.account, orderId: toOrderId('4711') };
    stack.plays(key.orderId, [['Driving', 0]], { scheduled_at: null });
    const run = await stack.start('followOrder', followOrderId(key), [key]);
    await stack.sleep(10 * second);
    expect(await handedOver(run)).toHaveLength(1);
    await run.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z' });
    await stack.sleep(10 * second);
    const scheduled = (await eventsOf(run)).flatMap(({ activityTaskScheduledEventAttributes: asked }) =>
      asked ? [asked.activityType?.name] : [],
    );
    expect(scheduled).toEqual(['readOrder', 'nextReading', 'watchOrder']);
  });
});

it('an order that deliveries name and the service does not know is given up after a quarter of an hour', async () => {
  const stack = startSimulatedStack();
  await stack.follow([['Driving', 0]]);
  const from = stack.world.scheduler.now;
  const invented = await stack.follow(null);
  await deliver(invented, newDelivery());
  await expect(invented.result()).rejects.toMatchObject({ cause: { type: 'OrderNotFound' } });
  const minutes = (stack.world.scheduler.now - from) / minute;
  expect(minutes).toBeGreaterThan(15);
  expect(minutes).toBeLessThan(22);
});

it('a URL that stays silent delays no end of a run, and is given up a day after each change', async () => {
  const stack = startSimulatedStack();
  const { scheduler, namespace, receivers } = stack.world;
  const from = scheduler.now;
  const notify = [{ url: 'https://receiver.example/down' }];
  receivers.fail('https://receiver.example/down', 503, 10 * day);
  const script = [
    ['Driving', 0],
    ['Completed', 2 * hour],
  ] as const;
  const run = await stack.follow(script, { notify });
  expect(await run.result()).toMatchObject({ outcome: 'completed' });
  expect(scheduler.now - from).toBeLessThan(2.1 * hour);
  const teller = namespace.all().find(({ type }) => type === 'notices');
  const { missed } = await stack.runOf(teller?.workflowId ?? '').result<{ missed: unknown }>();
  expect(missed).toEqual({ count: 2, last: 2, why: 'given up after a day' });
  const { told: tried } = receivers;
  const givenUpAfterMs = (tried.at(-1)?.at ?? 0) - from;
  expect(givenUpAfterMs).toBeGreaterThan(25.5 * hour);
  expect(givenUpAfterMs).toBeLessThan(26.5 * hour);
  expect(new Set(tried.map(({ id }) => id)).size).toBe(2);
  expect(tried.length, 'from 2 s to every ten minutes').toBeLessThan(200);
  // Both may be sent again for a week.
  expect(scheduler.now - from - 7 * day).toBeGreaterThan(25.5 * hour);
});
