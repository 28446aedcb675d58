import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { changeRideStart } from '../../../src/temporal/starts.js';
import type { changeRide } from '../../../src/workflows/ride/request-ride.js';
import { newRide } from '../../sandbox/booking-calls.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import {
  account,
  completes,
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
import { continued } from '../../support/runs.js';
import { cancelled, completed, ended, firstRunOf, type Paths } from './path.js';

/** An answer that is lost, and a refusal of the repeat: nobody knows whether there is an order. */
async function unknown(stack: OrderStack) {
  stack.sandbox.setBookingSettings({ script: goesOn, receiptChangesAfterMs: null });
  stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
  stack.sandbox.setFault({ kind: 'forbidden', operation: 'createOrder', times: 1 });
  const ride = await requestedRide(stack);
  await stands(ride.handle, { attention: { code: 'outcomeUnknown' } });
  return ride;
}

async function cancelledRide(handle: RideRun): Promise<RideRun> {
  await handle.executeUpdate('cancelRide');
  return await completed(handle);
}

/** A cancel that is sent for a caller, as Nexus does. */
const cancelFor = ({ client, config }: OrderStack, requestId: string, argument: object = {}) =>
  client.workflow.start<typeof changeRide>(
    'changeRide',
    changeRideStart({ account, requestId, change: 'cancelRide', argument }, randomUUID(), config.taskQueue),
  );

/** Every way through the workflow of rides, by name. */
export const ridePaths: Paths = {
  async 'ride-completed-with-receipt'(stack) {
    stack.sandbox.setBookingSettings({ script: completes, receiptAfterMs: 500, receiptChangesAfterMs: 1_500 });
    const { handle } = await requestedRide(stack, { receipt: true });
    return await completed(handle);
  },
  async 'ride-without-receipt-in-time'(stack) {
    stack.sandbox.setBookingSettings({ script: completes, receiptAfterMs: 3_600_000 });
    const limits = { ...shortLimits, firstReceiptMs: 1_500 };
    const { handle } = await requestedRide(stack, { receipt: true }, { limits });
    return await completed(handle);
  },
  async 'ride-changed-and-cancelled'(stack) {
    const { handle } = await rideUnderWay(stack);
    await failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] }));
    return await cancelledRide(handle);
  },
  async 'ride-cancelled-during-the-create'(stack) {
    stack.sandbox.setBookingSettings({ script: goesOn });
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 1_000, operation: 'createOrder' });
    const { handle, requestId } = await requestedRide(stack);
    await vi.waitFor(() => expect(ordersOf(stack, requestId)).toHaveLength(1), patient);
    await handle.executeUpdate('cancelRide');
    await handle.result();
    stack.sandbox.clearFault(fault);
    return handle;
  },
  async 'ride-withdrawn'(stack) {
    await stack.stopWorker();
    const { handle } = await requestedRide(stack);
    const cancelled = handle.executeUpdate('cancelRide');
    await stack.startWorker();
    await cancelled;
    return await completed(handle);
  },
  async 'ride-refused'(stack) {
    const { handle } = await requestedRide(stack, { order: newRide({ stops: [] }) });
    return await ended(handle);
  },
  async 'ride-with-bad-input'(stack) {
    const { handle } = await requestedRide(stack, { poll: 5 } as never);
    return await ended(handle);
  },
  async 'ride-resolved-by-order'(stack) {
    const { handle, requestId } = await unknown(stack);
    await failureOf(handle.executeUpdate('resolveRide', { args: [{ orderId: '404404' }] }));
    const orderId = ordersOf(stack, requestId)[0]?.orderId ?? '';
    await handle.executeUpdate('resolveRide', { args: [{ orderId }] });
    return await cancelledRide(handle);
  },
  async 'ride-tried-again'(stack) {
    const { handle } = await unknown(stack);
    await handle.executeUpdate('resolveRide', { args: [{ tryAgain: true }] });
    return await cancelledRide(handle);
  },
  async 'ride-given-up'(stack) {
    const { handle } = await unknown(stack);
    await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'recorded' }] });
    return await ended(handle);
  },
  async 'ride-continued-as-new'(stack) {
    const { handle } = await rideUnderWay(stack, {}, { maxEvents: 20 });
    await failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] }));
    await continued(handle);
    await stands(handle, { stage: 'following' });
    return firstRunOf(await cancelledRide(handle));
  },
  async 'ride-followed-again'(stack) {
    const { handle } = await rideUnderWay(stack);
    const { orderId } = await standingOf(handle);
    await stack.client.workflow.getHandle(`order/business/${orderId}`).terminate('recorded');
    // It would be found by the next look, which may be a minute away.
    await handle.signal('rideOrderChanged', { account, orderId, outcome: 'stopped' } as never);
    await stands(handle, { followedAgain: { times: 1 } });
    return await cancelledRide(handle);
  },
  async 'ride-run-cancelled'(stack) {
    const { handle } = await rideUnderWay(stack);
    return await cancelled(handle);
  },
  async 'change-of-a-ride'(stack) {
    const { requestId } = await rideUnderWay(stack);
    return await completed(cancelFor(stack, requestId));
  },
  async 'change-of-no-ride'(stack) {
    return await ended(cancelFor(stack, 'nobody-asked-for-it'));
  },
  async 'change-with-bad-input'(stack) {
    return await ended(cancelFor(stack, 'nobody-asked-for-it', { reason: 'late' }));
  },
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
