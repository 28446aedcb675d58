import { setTimeout as sleep } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { describe, expect, it, vi } from 'vitest';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { repeatWhenLost } from '../../../src/temporal/runs.js';
import { stopFollowingUpdate } from '../../../src/workflows/messages.js';
import { deliver, deliveryOf, newDelivery } from '../../support/delivery/deliveries.js';
import {
  type FollowHandle,
  readStatuses,
  shows,
  slowPolls,
  trailOf,
  useOrderStack,
} from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { attributeOf, eventsOf, isWatched, pendingOf } from '../../support/runs.js';

// Whatever is seen here was seen because of a message.
const stack = useOrderStack(slowPolls);

const readsOf = (orderId: string) => stack.sandbox.ledger({ orderId });
const statuses = (trail: OrderTrail) => trail.timeline.map(({ status, source }) => `${status} by ${source}`);

async function followed(status = 'Routing'): Promise<{ orderId: string; handle: FollowHandle }> {
  const orderId = stack.newOrder('business', [[status, 0]]);
  const handle = await stack.follow('business', orderId);
  await shows(handle, { status });
  await vi.waitFor(async () => expect(await isWatched(handle)).toBe(true), patient);
  expect(readsOf(orderId), 'the watch waits for a pace after the read').toHaveLength(1);
  return { orderId, handle };
}

async function announce(orderId: string, handle: FollowHandle, status: string): Promise<void> {
  stack.sandbox.setStatus('business', orderId, status);
  await deliver(handle, deliveryOf(status));
  // A query that meets the task of the delivery splits it in two.
  await expect.poll(() => attributeOf(handle, 'RideStatus')).toBe(status);
}

async function eventsAfter(historyLength: number, handle: FollowHandle): Promise<string[]> {
  const { EventType } = temporal.api.enums.v1;
  return (await eventsOf(handle))
    .slice(historyLength)
    .map(({ eventType }) => EventType[eventType ?? 0]?.slice(11) ?? '');
}

const task = (kind: string): string[] => ['SCHEDULED', 'STARTED', 'COMPLETED'].map((step) => `${kind}_TASK_${step}`);

describe('a delivery', () => {
  // Attention about the ride comes with one change and goes with the next.
  it.each([
    ['', ['Confirmed', 'Driving']],
    [', with attention that comes', ['Confirmed', 'CareReq']],
    [', with attention that goes', ['CareReq', 'Driving']],
  ] as const)(
    'that announces one more change moves the status by a read that starts after it, which costs 11 events%s',
    async (_, [before, status]) => {
      const { orderId, handle } = await followed();
      await announce(orderId, handle, before);
      const { historyLength } = await handle.describe();
      const sentAt = new Date().toISOString();
      await announce(orderId, handle, status);
      expect(readsOf(orderId)).toHaveLength(3);
      expect(readsOf(orderId).at(-1)?.at.localeCompare(sentAt)).toBeGreaterThanOrEqual(0);
      expect(await eventsAfter(historyLength, handle)).toEqual([
        'WORKFLOW_EXECUTION_SIGNALED',
        ...task('WORKFLOW'),
        ...task('ACTIVITY'),
        ...task('WORKFLOW'),
        'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
      ]);
      const code = status === 'CareReq' ? 'customerCare' : null;
      const attention = code && { code };
      expect(await trailOf(handle)).toMatchObject({ status, pushed: true, attention });
      const { searchAttributes } = await handle.describe();
      expect(searchAttributes).toMatchObject({ RideStatus: [status], RideSeenBy: ['delivery'] });
    },
  );

  it('never moves the status by itself; the timeline shows a status that only a delivery claims', async () => {
    const { orderId, handle } = await followed();
    await deliver(handle, deliveryOf('Confirmed'));
    await expect.poll(() => readsOf(orderId).length).toBe(2);
    await expect
      .poll(async () => statuses(await trailOf(handle)))
      .toEqual(['Routing by read', 'Confirmed by delivery']);
    expect(await trailOf(handle)).toMatchObject({ status: 'Routing', terminal: false });
  });

  it('keeps its claim until a reading answers it: trouble loses no status and no announcement', async () => {
    const { orderId, handle } = await followed();
    const fault = stack.sandbox.setFault({ kind: 'forbidden', orderId });
    const readsBefore = readsOf(orderId).length;
    for (const status of ['Confirmed', 'Waiting']) await deliver(handle, deliveryOf(status));
    await shows(handle, { attention: { code: 'forbidden' } });
    stack.sandbox.clearFault(fault);
    stack.sandbox.setStatus('business', orderId, 'Driving');
    await sleep(1_000);
    const most = 2;
    expect(readsOf(orderId).length, 'no read is repeated for what is left').toBeLessThanOrEqual(readsBefore + most);
    const trail = await handle.executeUpdate<OrderTrail, []>('refreshOrder');
    expect(statuses(trail)).toEqual([
      'Routing by read',
      'Confirmed by delivery',
      'Waiting by delivery',
      'Driving by read',
    ]);
    expect(trail).toMatchObject({ status: 'Driving', pushed: true, attention: null });
  });

  it('goes ahead of polls, unless the order was never read', async () => {
    const { orderId, handle } = await followed();
    await announce(orderId, handle, 'Confirmed');
    const invented = await stack.follow('business', 'invented');
    await deliver(invented, newDelivery());
    const priorities = async (run: FollowHandle) =>
      (await eventsOf(run)).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled ? [`${scheduled.activityType?.name} ${scheduled.priority?.priorityKey}`] : [],
      );
    expect(await priorities(handle)).toContain('readOrder 3');
    await expect.poll(() => priorities(invented)).toContain('readOrder 4');
    void invented.executeUpdate('refreshOrder').catch(() => undefined);
    await expect.poll(() => priorities(invented)).toContain('readOrder 3');
    await invented.terminate();
  });
});

describe('an update', () => {
  it('refreshOrder reads now and answers with what it saw; one that finds nothing new is a read and nothing else', async () => {
    const { orderId, handle } = await followed();
    const { historyLength } = await handle.describe();
    // When the second is answered, the history has all that the first led to.
    for (let asked = 0; asked < 2; asked += 1) await handle.executeUpdate('refreshOrder');
    const events = (await eventsOf(handle)).slice(historyLength);
    const begun = events.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
    expect(begun).toEqual(['readOrder', 'readOrder']);
    expect(events.filter((event) => event.activityTaskCancelRequestedEventAttributes)).toEqual([]);
    stack.sandbox.setStatus('business', orderId, 'Driving');
    expect(await handle.executeUpdate('refreshOrder')).toMatchObject({ status: 'Driving', pushed: false });
  });

  it('stopFollowing that comes while a run gives way to the next is answered with its outcome', async () => {
    const notify = Array.from({ length: 10 }, (_, index) => ({ workflowId: `stranger-${index}`, signal: 's' }));
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const orderId = stack.newOrder('business', [['Routing', 0]]);
        // It continues as new after each read, once its receivers have been told.
        const handle = await stack.follow('business', orderId, { notify }, { maxEvents: 15, maxSignals: 100 });
        await shows(handle, { status: 'Routing' });
        stack.sandbox.setStatus('business', orderId, 'Driving');
        await deliver(handle, deliveryOf('Driving'));
        await sleep(index * 25);
        return await repeatWhenLost(() =>
          handle.executeUpdate(stopFollowingUpdate, { args: [{ reason: 'not ours' }] }),
        );
      }),
    );
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'stopped'));
  });
});

// They last for seconds, most of which they wait.
describe.concurrent('many messages', () => {
  it('cost at most five reads in ten seconds, however many come, and a read still starts after the last one', async () => {
    const { orderId, handle } = await followed();
    const before = readsOf(orderId).length;
    const since = Date.now();
    let lastAt = '';
    while (Date.now() - since < 12_000) {
      lastAt = new Date().toISOString();
      await deliver(handle, newDelivery());
      await sleep(100);
    }
    const count = readsOf(orderId).length - before;
    expect(count).toBeGreaterThanOrEqual(4); // the first read of the order was one of the five
    expect(count).toBeLessThanOrEqual(11);
    await handle.executeUpdate('refreshOrder'); // a caller does not wait for the share
    expect(Date.now() - since).toBeLessThan(18_000);
    await vi.waitFor(() => expect((readsOf(orderId).at(-1)?.at ?? '') > lastAt).toBe(true), patient);
    await vi.waitFor(
      async () => expect((await pendingOf(handle)).map(({ name }) => name)).not.toContain('readOrder'),
      patient,
    );
    expect(readsOf(orderId).filter(({ at }) => at > lastAt).length).toBeLessThanOrEqual(3);
  });

  it('to a run that continues as new are not lost: no delivery, no claim and no timeline', async () => {
    const orderId = stack.newOrder('business', [['Pending', 0]]);
    const handle = await stack.follow('business', orderId, {}, { maxEvents: 30, maxSignals: 7 });
    await shows(handle, { status: 'Pending' });
    const course = ['Routing', 'Confirmed', 'Waiting', 'Driving'];
    for (const status of course) {
      stack.sandbox.setStatus('business', orderId, status);
      for (let index = 0; index < 5; index += 1) await deliver(handle, deliveryOf(status));
      await shows(handle, { status });
    }
    // Sent at once, so that some arrive while one run gives way to the next. Only the first of each word makes an
    // entry.
    const claims = ['Unreserved', 'Reserved', 'CareReq', 'Rejected', 'Cancelled'];
    const sent = Array.from({ length: 40 }, (_, index) => claims[index % claims.length] as string);
    await Promise.all(sent.map((claim) => deliver(handle, deliveryOf(claim))));
    const claimed = async () => (await trailOf(handle)).timeline.filter(({ source }) => source === 'delivery').length;
    await vi.waitFor(async () => expect(await claimed()).toBe(claims.length), patient);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    const late = Array.from({ length: 20 }, () => deliver(handle, newDelivery()));
    const acknowledged = (await Promise.allSettled(late)).filter(({ status }) => status === 'fulfilled').length;
    const trail = await handle.result();
    expect(trail).toMatchObject({ outcome: 'completed', deliveries: { received: 60 + acknowledged, duplicate: 0 } });
    expect(readStatuses(trail)).toEqual(['Pending', ...course, 'Completed']);
    const { runId, searchAttributes } = await handle.describe();
    expect(runId).not.toBe(handle.firstExecutionRunId);
    expect(searchAttributes).toMatchObject({ RideAccount: ['business'], RideStatus: ['Completed'] });
  });

  it('refreshOrder that no read has answered says so when the run is stopped', async () => {
    const { orderId, handle } = await followed('Driving');
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 4_000, orderId });
    const refreshed = handle.executeUpdate('refreshOrder').catch((error: Error) => error.cause);
    await vi.waitFor(() => expect(readsOf(orderId).length).toBe(2), patient);
    const stopped = handle.executeUpdate('stopFollowing', { args: [{ reason: 'not ours' }] });
    expect(await stopped).toMatchObject({ outcome: 'stopped', status: 'Driving' });
    expect(await refreshed).toMatchObject({ type: 'NotRead' });
    stack.sandbox.clearFault(fault);
  });
});
