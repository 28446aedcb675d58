import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { changeRideId } from '../../../src/domain/workflow-ids.js';
import { singleRunStart } from '../../../src/temporal/starts.js';
import type { changeRide } from '../../../src/workflows/ride/request-ride.js';
import { newRide, stop } from '../../dev/sandbox/booking-calls.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import {
  account,
  completes,
  doubtfulRide,
  failureOf,
  goesOn,
  ordersOf,
  type RideRun,
  requestedRide,
  rideUnderWay,
  shortLimits,
  standingOf,
  stands,
} from '../../support/ride/rides.js';
import { completed, ended, type Paths } from './path.js';

const ride = async (...given: Parameters<typeof requestedRide>) => (await requestedRide(...given)).handle;

export async function cancelledRide(run: RideRun | Promise<RideRun>): Promise<RideRun> {
  await (await run).executeUpdate('cancelRide');
  return await completed(run);
}

const refusedUpdate = (handle: RideRun) =>
  failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] }));

/** A cancel that is sent for a caller, as the Nexus service of 0.2.0 did. */
function cancelFor({ client, config }: OrderStack, requestId: string, argument: object = {}) {
  const input = { account, requestId, change: 'cancelRide', argument } as const;
  const workflowId = changeRideId({ account, requestId, changeId: randomUUID() });
  const start = singleRunStart(workflowId, input, config.taskQueue, `cancelRide of ride ${requestId}`);
  return client.workflow.start<typeof changeRide>('changeRide', start);
}

/** The ways through the workflow of rides that have none with a store, by name. */
export const ridePaths: Paths = {
  'ride-without-receipt-in-time'(stack) {
    stack.sandbox.setRideSettings({ script: completes, receiptAfterMs: 3_600_000 });
    return completed(ride(stack, { receipt: true }, { limits: { ...shortLimits, firstReceiptMs: 1_500 } }));
  },
  async 'ride-changed-and-cancelled'(stack) {
    const { handle } = await rideUnderWay(stack);
    await refusedUpdate(handle);
    return await cancelledRide(handle);
  },
  async 'ride-that-ended-before-a-change'(stack) {
    const { handle } = await rideUnderWay(stack);
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 4_000, operation: 'updateOrder' });
    const refused = refusedUpdate(handle);
    stack.sandbox.setStatus('business', (await standingOf(handle)).orderId ?? '', 'Completed');
    await stands(handle, { stage: 'ended' });
    await refused;
    stack.sandbox.clearFault(fault);
    return await completed(handle);
  },
  async 'ride-cancelled-during-the-create'(stack) {
    stack.sandbox.setRideSettings({ script: goesOn });
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 1_000, operation: 'createOrder' });
    const { handle, requestId } = await requestedRide(stack);
    await vi.waitFor(() => expect(ordersOf(stack, requestId)).toHaveLength(1), patient);
    await cancelledRide(handle);
    stack.sandbox.clearFault(fault);
    return handle;
  },
  async 'ride-withdrawn'(stack) {
    await stack.stopWorker();
    const { handle } = await requestedRide(stack);
    const cancelling = cancelledRide(handle);
    await stack.startWorker();
    return await cancelling;
  },
  async 'ride-with-quote'(stack) {
    // The first quote is lost with its create, the second one belongs to the order.
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'request', times: 1 });
    const order = newRide({ stops: [stop('origin', 'pick_up'), stop('destination', 'drop_off')] });
    stack.sandbox.setRideSettings({ script: goesOn });
    const { handle } = await requestedRide(stack, { order, quote: true });
    await stands(handle, { attention: { code: 'outcomeUnknown' }, price: '48.00' });
    await handle.executeUpdate('resolveRide', { args: [{ tryAgain: true }] });
    await stands(handle, { stage: 'following', price: '48.00', currency: 'GBP' });
    return await cancelledRide(handle);
  },
  'ride-with-bad-input': (stack) => ended(ride(stack, { poll: 5 } as never)),
  async 'ride-resolved-by-order'(stack) {
    const { handle, orderId, resolve } = await doubtfulRide(stack);
    await failureOf(resolve({ orderId: '404404' }));
    await resolve({ orderId });
    return await cancelledRide(handle);
  },
  async 'ride-given-up'(stack) {
    const { handle, resolve } = await doubtfulRide(stack);
    await resolve({ giveUp: true, reason: 'recorded' });
    return await ended(handle);
  },
  async 'ride-followed-again'(stack) {
    const { handle } = await rideUnderWay(stack);
    const { orderId } = await standingOf(handle);
    await stack.client.workflow.getHandle(`order/business/${orderId}`).terminate('recorded');
    // The next look, which may be a minute away, would find it.
    await handle.signal('rideOrderChanged', { account, orderId, outcome: 'stopped' } as never);
    await stands(handle, { followedAgain: { times: 1 } });
    return await cancelledRide(handle);
  },
  async 'ride-followed-again-after-a-change'(stack) {
    const { handle } = await rideUnderWay(stack);
    const { orderId } = await standingOf(handle);
    await stack.client.workflow.getHandle(`order/business/${orderId}`).terminate('recorded');
    return await cancelledRide(handle);
  },
  async 'order-cancelled-that-a-ride-awaits'(stack) {
    const { handle } = await rideUnderWay(stack);
    const { orderId } = await standingOf(handle);
    const workflowId = `order/business/${orderId}`;
    const { runId } = await stack.client.workflow.getHandle(workflowId).describe();
    const run = stack.client.workflow.getHandle(workflowId, runId);
    await run.cancel();
    await stands(handle, { followedAgain: { times: 1 } });
    await handle.terminate();
    return await ended(run);
  },
  'change-of-a-ride': async (stack) => completed(cancelFor(stack, (await rideUnderWay(stack)).requestId)),
  'change-of-no-ride': (stack) => ended(cancelFor(stack, 'nobody-asked-for-it')),
  'change-with-bad-input': (stack) => ended(cancelFor(stack, 'nobody-asked-for-it', { reason: 'late' })),
  async 'order-with-added-receivers'(stack) {
    const { handle } = await rideUnderWay(stack);
    const { orderId } = await standingOf(handle);
    const run = stack.client.workflow.getHandle(`order/business/${orderId}`);
    await run.signal('followRequested', { notify: [{ workflowId: 'nobody', signal: 'rideChanged' }] });
    await run.signal('followRequested', { notify: 'nobody' });
    await handle.executeUpdate('cancelRide');
    return await completed(run);
  },
};
