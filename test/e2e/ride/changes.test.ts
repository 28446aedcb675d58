import { randomUUID } from 'node:crypto';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { RequestRideInput } from '../../../src/domain/ride/input.js';
import type { RideStanding } from '../../../src/domain/ride/ride.js';
import { rideStart } from '../../../src/temporal/starts.js';
import { cancelRideUpdate } from '../../../src/workflows/messages.js';
import type { requestRide } from '../../../src/workflows/ride/request-ride.js';
import { inMs, newRide } from '../../dev/sandbox/booking-calls.js';
import {
  account,
  failureOf,
  goesOn,
  lifeOf,
  ordersOf,
  requestedRide,
  rideUnderWay,
  standingOf,
  useRideStack,
} from '../../support/ride/rides.js';

const stack = useRideStack();
const following = (...more: [Partial<RequestRideInput>?, { script?: typeof goesOn }?]) => rideUnderWay(stack, ...more);

const callsOf = (operation: 'cancelOrder' | 'updateOrder', { orderId }: RideStanding) =>
  stack.sandbox.ledger({ operation, orderId: orderId ?? '' });

describe('cancelling a ride', () => {
  it('cancels its order, is answered when the order reads cancelled however long that takes, and reads its receipt', async () => {
    stack.sandbox.setRideSettings({ cancelTakesMs: 1_000 });
    const { handle } = await following({ receipt: true });
    const standing = await handle.executeUpdate('cancelRide');
    expect(standing).toMatchObject({ status: 'Cancelled', outcome: 'cancelled' });
    expect(await handle.result()).toMatchObject({
      outcome: 'cancelled',
      receipt: { payment_summary: { total_inc_tax: 6 } },
    });
    expect(callsOf('cancelOrder', await standingOf(handle))).toMatchObject([{ httpStatus: 204 }]);
  });

  it('twice cancels once', async () => {
    const { handle } = await following();
    const answers = await Promise.all([handle.executeUpdate('cancelRide'), handle.executeUpdate('cancelRide')]);
    expect(answers).toMatchObject([{ outcome: 'cancelled' }, { outcome: 'cancelled' }]);
    expect(callsOf('cancelOrder', await standingOf(handle))).toHaveLength(1);
  });

  it('that the service refuses fails for its caller, and changes nothing', async () => {
    const { handle } = await following({}, { script: lifeOf(['Pending', 'Driving']) });
    const refused = await failureOf(handle.executeUpdate('cancelRide'));
    expect(refused).toMatchObject({ type: 'Refused', details: [{ status: 422, code: 'order_not_cancellable' }] });
    const standing = await standingOf(handle);
    expect(standing).toMatchObject({ stage: 'following', status: 'Driving', attention: null });
    stack.sandbox.setStatus('business', standing.orderId ?? '', 'Completed');
    expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  });

  it('during the create waits for its answer, then cancels', async () => {
    stack.sandbox.setRideSettings({ script: goesOn });
    stack.sandbox.setFault({ kind: 'slow', delayMs: 1_500, operation: 'createOrder' });
    const { handle, requestId } = await requestedRide(stack);
    await expect.poll(() => ordersOf(stack, requestId).length).toBe(1);
    expect(await handle.executeUpdate('cancelRide')).toMatchObject({ outcome: 'cancelled' });
    expect(await handle.result()).toMatchObject({ outcome: 'cancelled', trail: { status: 'Cancelled' } });
  });

  it('before anything was sent makes no order', async () => {
    const input: RequestRideInput = { account, requestId: randomUUID(), order: newRide() };
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof requestRide>(
      'requestRide',
      rideStart(input, stack.config.taskQueue),
    );
    const standing = await stack.client.workflow.executeUpdateWithStart(cancelRideUpdate, { startWorkflowOperation });
    expect(standing).toMatchObject({ stage: 'ended', orderId: null, outcome: 'withdrawn' });
    const handle = await startWorkflowOperation.workflowHandle();
    expect(await handle.result()).toMatchObject({ outcome: 'withdrawn', orderId: null, trail: null, receipt: null });
    expect(ordersOf(stack, input.requestId)).toEqual([]);
  });
});

describe('changing a ride', () => {
  const scheduled = () =>
    following({ order: newRide({ scheduled_at: inMs(7_200_000) }) }, { script: lifeOf(['Pending', 'Reserved']) });

  it('changes its order, one change after the other', async () => {
    const { handle, requestId } = await scheduled();
    const later = inMs(9_000_000);
    const answers = await Promise.all([
      handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] }),
      handle.executeUpdate('updateRide', { args: [{ order: { scheduled_at: later } }] }),
    ]);
    expect(answers).toMatchObject([{ status: 'Reserved' }, { status: 'Reserved' }]);
    expect(ordersOf(stack, requestId)).toMatchObject([{ order: { note_to_driver: 'blue door', scheduled_at: later } }]);
    expect(callsOf('updateOrder', await standingOf(handle))).toHaveLength(2);
    await handle.executeUpdate('cancelRide');
    expect(await handle.result()).toMatchObject({ outcome: 'cancelled', trail: { details: { scheduledAt: later } } });
  });
});
