import type { temporal } from '@temporalio/proto';
import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { startReplayer } from '../../dev/replay/replayer.js';
import { deliver, deliveryOf, newDelivery } from '../support/delivery/deliveries.js';
import { anHourOfFlood, countIn } from '../support/delivery/flood.js';
import { isLong } from '../support/long.js';
import { shows, startFollowing, trailOf } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { isWatched, runsOf } from '../support/runs.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';
import { quietRuntime } from '../support/worker/runtime.js';

// Too many signals may end a process, which must be one of a worker and not that of the tests.

/** An order that is followed, and so many worker processes. */
async function aFleet(workers: number) {
  const fleet = await startFleet(workers);
  onTestFinished(() => fleet.close());
  const orderId = fleet.newOrder('business', [['Routing', 0]]);
  const handle = await startFollowing(fleet.place, { account: 'business', orderId });
  const reads = () => fleet.sandbox.ledger({ orderId });
  return { fleet, orderId, handle, reads };
}

type EventParts = Pick<
  temporal.api.history.v1.IHistoryEvent,
  | 'eventTime'
  | 'workflowTaskCompletedEventAttributes'
  | 'workflowTaskTimedOutEventAttributes'
  | 'workflowTaskFailedEventAttributes'
>;

const msOf = (time: EventParts['eventTime']) => Number(time?.seconds) * 1_000 + Number(time?.nanos ?? 0) / 1e6;

/** How long each workflow task of these runs took, from its start to its completion, and how many were lost. */
async function tasksOf({ client }: Fleet, workflowId: string) {
  const runs = (await runsOf(client, workflowId)) as EventParts[][];
  const tookMs = runs.flatMap((events) =>
    events.flatMap(({ workflowTaskCompletedEventAttributes: done, eventTime }) =>
      done ? [msOf(eventTime) - msOf(events[Number(done.startedEventId) - 1]?.eventTime)] : [],
    ),
  );
  const isLost = (event: EventParts) =>
    event.workflowTaskTimedOutEventAttributes || event.workflowTaskFailedEventAttributes;
  return { longestMs: Math.max(...tookMs), lost: runs.flat().filter(isLost).length };
}

it('an hour of flood for one order while no worker runs costs the next worker no task', {
  timeout: 300_000,
}, async () => {
  const signals = await anHourOfFlood();
  const { fleet, handle, reads } = await aFleet(0);
  for (const { deliveries } of signals) await deliver(handle, ...deliveries);
  const lastAt = new Date().toISOString();
  const worker = await fleet.addWorker();
  await shows(handle, { status: 'Routing', deliveries: { received: countIn(signals), duplicate: 0 } });
  const tasks = await tasksOf(fleet, handle.workflowId);
  expect(tasks.lost).toBe(0);
  // A busy machine stretches a task, so its time counts where the long variants run alone.
  if (isLong) expect(tasks.longestMs).toBeLessThan(1_000);
  expect(reads().filter(({ at }) => at > lastAt).length).toBeGreaterThanOrEqual(1);
  expect(await worker.stop(), 'it has not ended before').toBe(0);
});

// We cannot bound a plain client. The number that a worker survives depends on its machine:
// docs/explanation/reliability.md.
const waiting = 500;

it(`${waiting} signals that another program has sent to one order while no worker ran end no worker, and all count`, {
  timeout: 300_000,
}, async () => {
  const { fleet, handle, reads } = await aFleet(0);
  for (let sent = 0; sent < waiting; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, () => deliver(handle, newDelivery())));
  }
  const lastAt = new Date().toISOString();
  const worker = await fleet.addWorker();
  await shows(handle, { status: 'Routing', deliveries: { received: waiting } });
  expect(reads().filter(({ at }) => at > lastAt).length).toBeGreaterThanOrEqual(1);
  expect(await worker.stop(), 'it has not ended before').toBe(0);
});

it('a run that waits for the service hands many deliveries on to the next run, which reads no sooner', {
  timeout: 300_000,
}, async () => {
  const { fleet, orderId, handle, reads } = await aFleet(1);
  await shows(handle, { status: 'Routing' });
  await vi.waitFor(async () => expect(await isWatched(handle)).toBe(true), patient);
  fleet.sandbox.setFault({ kind: 'forbidden', orderId });
  await deliver(handle, newDelivery());
  await shows(handle, { attention: { code: 'forbidden' } });
  const before = reads().length;
  const claims = ['Unreserved', 'Reserved', 'Confirmed', 'Waiting', 'Driving', 'Rejected', 'Cancelled', 'CareReq'];
  let sent = 1;
  while ((await handle.describe()).runId === handle.firstExecutionRunId) {
    for (let batch = 0; batch < 10; batch += 1) {
      await Promise.all(claims.map((claim) => deliver(handle, deliveryOf(claim))));
      sent += claims.length;
    }
    // Few wait at a time, on a slow machine too.
    await vi.waitFor(async () => expect((await trailOf(handle)).deliveries.received).toBe(sent), patient);
  }
  expect(reads()).toHaveLength(before);
  fleet.sandbox.clearFaults();
  fleet.sandbox.setStatus('business', orderId, 'Completed');
  await handle.executeUpdate('refreshOrder');
  const { deliveries, timeline } = await handle.result();
  expect(deliveries).toMatchObject({ received: sent });
  expect(new Set(timeline.flatMap(({ source, status }) => (source === 'delivery' ? [status] : [])))).toEqual(
    new Set(claims),
  );
  const runs = await runsOf(fleet.client, handle.workflowId);
  quietRuntime();
  const replayer = startReplayer({ codePath: inject('workflowBundlePath') });
  for (const events of runs) await replayer.replay({ events }, handle.workflowId);
  await replayer.close();
  expect(await fleet.workers[0]?.stop(), 'it has not ended before').toBe(0);
});
