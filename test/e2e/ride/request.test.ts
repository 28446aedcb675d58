import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { RequestRideInput } from '../../../src/domain/ride/input.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { repeatWhenLost } from '../../../src/temporal/runs.js';
import type { RequestRideProgress } from '../../../src/workflows/ride/request-ride.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { startToldWorkflow } from '../../support/notify/receiver.js';
import type { FollowHandle } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import {
  account,
  completes,
  createsOf,
  failureOf,
  goesOn,
  lifeOf,
  ordersOf,
  type RideRun,
  requestedRide,
  rideUnderWay,
  shortLimits,
  standingOf,
  stands,
  useRideStack,
} from '../../support/ride/rides.js';
import { eventsOf, pendingOf } from '../../support/runs.js';

const stack = useRideStack();

const ordered = (more?: Partial<RequestRideInput>, progress?: RequestRideProgress) =>
  requestedRide(stack, more, progress);
const runOf = (orderId: string) =>
  stack.client.workflow.getHandle(followOrderId({ account, orderId: toOrderId(orderId) }));

describe('a ride', () => {
  it('is ordered once, followed to its end, and its receipt read through a recalculation', async () => {
    stack.sandbox.setRideSettings({ script: lifeOf(['Pending', 'Confirmed']), receiptChangesAfterMs: [1_000] });
    const { handle, requestId } = await ordered({ receipt: true });
    await stands(handle, { stage: 'following', status: 'Confirmed', outcome: null, attention: null });
    const [made, ...more] = ordersOf(stack, requestId);
    expect(more).toEqual([]);
    stack.sandbox.setStatus('business', made?.orderId ?? '', 'Completed');
    // A caller sees what the ride costs before its run ends.
    await stands(handle, { stage: 'receipt', receipt: { payment_summary: {} }, isReceiptSettled: false });
    const result = await handle.result();
    expect(result).toMatchObject({
      account,
      requestId,
      orderId: made?.orderId,
      outcome: 'completed',
      trail: { reference: requestId, status: 'Completed', outcome: 'completed' },
      receipt: { payment_summary: { total_inc_tax: 54 } },
    });
    const { receipt } = result;
    const ended = { stage: 'ended', status: 'Completed', outcome: 'completed', receipt, isReceiptSettled: true };
    expect(await standingOf(handle)).toMatchObject(ended);
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes).toMatchObject({ RideAccount: [account] });
    expect(searchAttributes).not.toHaveProperty('RideAttention');
  });

  it('ends without a receipt when none comes in time, or none was wanted', async () => {
    stack.sandbox.setRideSettings({ script: completes, receiptAfterMs: 3_600_000 });
    const limits = { ...shortLimits, firstReceiptMs: 2_000 };
    const rides = [await ordered({ receipt: true }, { limits }), await ordered()];
    for (const { handle } of rides)
      expect(await handle.result()).toMatchObject({ outcome: 'completed', receipt: null });
  });
});

describe('a create that is refused', () => {
  const partner = { account: toAccountName('partner') };
  it.each([
    ['for a field that is missing', { order: newRide({ stops: undefined }) }, 'InvalidInput'],
    ['for a product that the service does not know', { order: newRide({ product_id: randomUUID() }) }, 'Refused'],
    ['because a partner account takes no rides', partner, 'InvalidInput'],
  ])('%s ends the run with its failure', async (_why, input, type) => {
    const { handle, requestId } = await ordered(input);
    expect(await failureOf(handle.result())).toMatchObject({ type });
    expect(await standingOf(handle)).toMatchObject({ stage: 'ended', orderId: null });
    expect(ordersOf(stack, requestId)).toEqual([]);
  });

  it('is told to those who wait to change the ride, with the words of the service', async () => {
    stack.sandbox.setFault({ kind: 'slow', delayMs: 1_500, operation: 'createOrder' });
    const order = newRide({ product_id: randomUUID() });
    const { handle, requestId } = await ordered({ order });
    await expect.poll(() => createsOf(stack, requestId)).toHaveLength(1);
    const details = [{ status: 422, code: 'product_not_found' }];
    const refused = await failureOf(handle.executeUpdate('cancelRide'));
    expect(refused).toMatchObject({ type: 'Refused', details });
    expect(await failureOf(handle.result())).toMatchObject({ type: 'Refused', details });
  });
});

describe('the run of the order', () => {
  /** A ride whose create has made its order, but is not answered yet. */
  async function unanswered() {
    stack.sandbox.setFault({ kind: 'slow', delayMs: 3_000, operation: 'createOrder', times: 1 });
    const ride = await ordered();
    await expect.poll(() => ordersOf(stack, ride.requestId).length).toBe(1);
    return { ...ride, orderId: ordersOf(stack, ride.requestId)[0]?.orderId ?? '' };
  }

  it('may have started before the create is answered: the ride takes it', async () => {
    stack.sandbox.setRideSettings({ script: goesOn });
    const { handle, orderId } = await unanswered();
    const { firstExecutionRunId } = await stack.follow('business', orderId);
    await stands(handle, { stage: 'following', status: 'Routing' });
    const looks = async () => (await pendingOf(handle))[0]?.attempt;
    await expect.poll(looks).toBeGreaterThan(1); // the next looks come 20 s later, then 80 s
    stack.sandbox.setStatus('business', orderId, 'Completed');
    const started = Date.now();
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'completed' });
    expect(Date.now() - started, 'told by signal, not found by the slow look').toBeLessThan(30_000);
    expect((await runOf(orderId).describe()).runId).toBe(firstExecutionRunId);
  });

  it('may even have ended by then: its trail is taken', async () => {
    stack.sandbox.setRideSettings({ script: completes.slice(-1).map((step) => ({ ...step, afterMs: 0 })) });
    const { handle, orderId } = await unanswered();
    const follow = await stack.follow('business', orderId);
    const trail = await follow.result();
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'completed', trail });
  });

  it('goes on when the ride is cancelled, even while its create is repeated', async () => {
    stack.sandbox.setRideSettings({ script: goesOn });
    const again = { operation: 'createOrder', times: 1 } as const;
    stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', ...again });
    stack.sandbox.setFault({ kind: 'unavailable', retryAfterSeconds: 2, ...again });
    const { handle, requestId } = await ordered();
    await expect.poll(() => ordersOf(stack, requestId).length).toBe(1);
    const orderId = ordersOf(stack, requestId)[0]?.orderId ?? '';
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect((await runOf(orderId).describe()).status.name).toBe('RUNNING');
    await runOf(orderId).terminate();
  });

  const deleteRun = ({ workflowId }: Pick<FollowHandle, 'workflowId'>) =>
    stack.client.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId } });
  /** A terminated or deleted run sends no signal, so the test does: the ride's next read may be half an hour away. */
  const waysToBreakOff: { breakOff(run: ReturnType<typeof runOf>): Promise<unknown>; tells: boolean }[] = [
    { breakOff: (run) => run.terminate(), tells: false },
    { breakOff: (run) => run.cancel(), tells: true },
    { breakOff: deleteRun, tells: false },
  ];
  it('is replaced by the ride as often as a person terminates, cancels or deletes it, and the ride has the right end', async () => {
    const rides = waysToBreakOff.map(async ({ breakOff, tells }) => {
      const { handle, requestId } = await rideUnderWay(stack, {}, { maxEvents: 20 });
      const orderId = (await standingOf(handle)).orderId ?? expect.fail('no order');
      const run = runOf(orderId);
      for (let times = 1; times <= 2; times += 1) {
        const { runId } = await run.describe();
        await breakOff(run);
        if (!tells) await handle.signal('rideOrderChanged', { account, orderId, outcome: 'stopped' } as never);
        await stands(handle, { stage: 'following', followedAgain: { times, reason: /^NotFollowed: / } });
        await expect.poll(() => run.describe()).not.toMatchObject({ runId });
        await expect.poll(() => run.query('orderTrail')).toMatchObject({ reference: requestId, status: 'Routing' });
      }
      stack.sandbox.setStatus('business', orderId, 'Completed');
      expect(await handle.result()).toMatchObject({ orderId, outcome: 'completed', trail: { outcome: 'completed' } });
      expect(ordersOf(stack, requestId)).toHaveLength(1);
    });
    await Promise.all(rides);
  });

  it.each<[string, (ride: RideRun, run: ReturnType<typeof runOf>) => Promise<unknown>]>([
    ['a person cancels it', (_, run) => run.cancel()],
    [
      'a caller changes its ride after a person has terminated it',
      async (ride, run) => {
        await run.terminate();
        expect(await ride.executeUpdate('cancelRide')).toMatchObject({ outcome: 'cancelled' });
      },
    ],
  ])('is replaced at once when %s, long before the next look', async (_, breakOff) => {
    const { handle } = await rideUnderWay(stack);
    const orderId = (await standingOf(handle)).orderId ?? expect.fail('no order');
    const looks = async () => (await pendingOf(handle))[0]?.attempt;
    await vi.waitFor(async () => expect(await looks()).toBe(2), patient); // which comes in half an hour
    const brokenOffAt = Date.now();
    await breakOff(handle, runOf(orderId));
    await stands(handle, { followedAgain: { times: 1, reason: /^NotFollowed: / } });
    expect(Date.now() - brokenOffAt).toBeLessThan(15_000);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await handle.result();
  });

  it('ends the ride when a person stops it', async () => {
    const { handle } = await rideUnderWay(stack);
    const run = runOf((await standingOf(handle)).orderId ?? '');
    await repeatWhenLost(() =>
      run.executeUpdate('stopFollowing', { args: [{ reason: 'by phone' }], updateId: 'stop' }),
    );
    expect(await handle.result()).toMatchObject({ outcome: 'stopped' });
  });

  it('tells the ride and ten receivers of each change, though a request takes ten', async () => {
    stack.sandbox.setRideSettings({ script: completes });
    const { receiver, course, end } = await startToldWorkflow(stack);
    const strangers = Array.from({ length: 9 }, (_, i) => ({ workflowId: `stranger-${i}`, signal: 'rideChanged' }));
    const notify = [receiver, ...strangers];
    const { handle } = await ordered({ notify });
    const { orderId } = await handle.result();
    const toldBy = async (run: Parameters<typeof eventsOf>[0]) =>
      (await eventsOf(run)).flatMap((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes ?? []);
    expect(await toldBy(handle), 'the ride itself tells no workflow').toEqual([]);
    const told = await toldBy(runOf(orderId ?? ''));
    const receivers = new Set(told.map(({ workflowExecution }) => workflowExecution?.workflowId));
    expect(receivers).toEqual(new Set([handle.workflowId, ...notify.map(({ workflowId }) => workflowId)]));
    await expect.poll(async () => (await course()).at(-1)).toEqual(['Completed', 'completed']);
    await end();
  });
});
