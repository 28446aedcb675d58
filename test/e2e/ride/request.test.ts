import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { repeatWhenLost } from '../../../src/temporal/lost-update.js';
import { newRide } from '../../sandbox/booking-calls.js';
import { type OrderStack, startOrderStack } from '../../support/order/stack.js';
import {
  account,
  completes,
  failureOf,
  goesOn,
  lifeOf,
  ordersOf,
  requestedRide,
  shortLimits,
  standingOf,
  stands,
} from '../../support/ride/rides.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack();
});
afterAll(() => stack.close());
afterEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setBookingSettings({ script: null, receiptAfterMs: 0, receiptChangesAfterMs: null });
});

const ordered = (...given: Parameters<typeof requestedRide> extends [unknown, ...infer Rest] ? Rest : never) =>
  requestedRide(stack, ...given);
const runOf = (orderId: string) =>
  stack.client.workflow.getHandle(followOrderId({ account, orderId: toOrderId(orderId) }));

describe('a ride', () => {
  it('is ordered once, followed to its end, and its receipt read through a recalculation', async () => {
    stack.sandbox.setBookingSettings({ script: lifeOf(['Pending', 'Confirmed']), receiptChangesAfterMs: 1_000 });
    const { handle, requestId } = await ordered({ receipt: true });
    await stands(handle, { stage: 'following', status: 'Confirmed', outcome: null, attention: null });
    const [made, ...more] = ordersOf(stack, requestId);
    expect(more).toEqual([]);
    stack.sandbox.setStatus('business', made?.orderId ?? '', 'Completed');
    const result = await handle.result();
    expect(result).toMatchObject({
      account,
      requestId,
      orderId: made?.orderId,
      outcome: 'completed',
      trail: { reference: requestId, status: 'Completed', outcome: 'completed' },
      receipt: { payment_summary: { total_inc_tax: '24.20' } },
    });
    expect(await standingOf(handle)).toMatchObject({ stage: 'ended', status: 'Completed', outcome: 'completed' });
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes).toMatchObject({ RideAccount: [account] });
    expect(searchAttributes).not.toHaveProperty('RideAttention');
  });

  it('ends without a receipt when none comes in time, or none was wanted', async () => {
    stack.sandbox.setBookingSettings({ script: completes, receiptAfterMs: 3_600_000 });
    const limits = { ...shortLimits, firstReceiptMs: 2_000 };
    const rides = [await ordered({ receipt: true }, { limits }), await ordered()];
    for (const { handle } of rides)
      expect(await handle.result()).toMatchObject({ outcome: 'completed', receipt: null });
  });

  it('is one ride however often it is asked for', async () => {
    stack.sandbox.setBookingSettings({ script: completes });
    const { handle, requestId, order } = await ordered();
    const again = await ordered({ requestId, order });
    expect(await again.handle.result()).toEqual(await handle.result());
    await expect(ordered({ requestId, order })).rejects.toThrow(WorkflowExecutionAlreadyStartedError);
    expect(ordersOf(stack, requestId)).toHaveLength(1);
  });

  it('tells others of each change through the run of its order', async () => {
    stack.sandbox.setBookingSettings({ script: completes });
    const receiver = `receiver-${randomUUID()}`;
    const told = await stack.client.workflow.start('receiver', { workflowId: receiver, taskQueue: `none-${receiver}` });
    const { handle } = await ordered({ notify: [{ workflowId: receiver, signal: 'rideChanged' }] });
    await handle.result();
    const last = async () => {
      const { events } = await told.fetchHistory();
      const signals = (events ?? []).flatMap(
        (event) => event.workflowExecutionSignaledEventAttributes?.input?.payloads ?? [],
      );
      return JSON.parse(Buffer.from(signals.at(-1)?.data ?? []).toString());
    };
    await expect.poll(last).toMatchObject({ status: 'Completed', outcome: 'completed' });
    await told.terminate();
  });

  it('continues as new in the middle, without losing where it stands', async () => {
    stack.sandbox.setBookingSettings({ script: goesOn });
    const { handle, requestId } = await ordered({}, { limits: { ...shortLimits, maxEvents: 30 } });
    const { runId } = await handle.describe();
    for (let asked = 0; asked < 4; asked += 1) {
      await failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] }));
    }
    await expect.poll(async () => (await handle.describe()).runId).not.toBe(runId);
    await expect.poll(() => standingOf(handle)).toMatchObject({ stage: 'following', status: 'Routing' });
    await handle.executeUpdate('cancelRide');
    expect(await handle.result()).toMatchObject({ outcome: 'cancelled', trail: { outcome: 'cancelled' } });
    expect(ordersOf(stack, requestId)).toHaveLength(1);
  });
});

describe('a create whose answer was lost', () => {
  it.each(['dropConnection', 'serverError'] as const)(
    'by %s is repeated under the same id: one order',
    async (kind) => {
      stack.sandbox.setBookingSettings({ script: completes });
      stack.sandbox.setFault({ kind, operation: 'createOrder', when: 'answer', times: 1 });
      const { handle, requestId } = await ordered();
      expect(await handle.result()).toMatchObject({ outcome: 'completed' });
      const sent = stack.sandbox.ledger({ operation: 'createOrder' }).map((call) => call.requestId);
      expect(sent.filter((id) => id === `ride.${account}.${requestId}`)).toHaveLength(2);
      expect(ordersOf(stack, requestId)).toHaveLength(1);
    },
  );
});

describe('a create that is refused', () => {
  it.each([
    ['a field that is missing', { stops: undefined }, 'InvalidInput'],
    ['a product that nobody knows', { product_id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a0ff' }, 'Refused'],
  ])('%s ends the run with its failure', async (_what, change, type) => {
    const { handle, requestId } = await ordered({ order: newRide(change) });
    expect(await failureOf(handle.result())).toMatchObject({ type });
    expect(await standingOf(handle)).toMatchObject({ stage: 'ended', orderId: null });
    expect(ordersOf(stack, requestId)).toEqual([]);
  });

  it('is told to those who wait to change the ride, with the words of the service', async () => {
    stack.sandbox.setFault({ kind: 'slow', delayMs: 1_500, operation: 'createOrder' });
    const order = newRide({ product_id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a0ff' });
    const { handle, requestId } = await ordered({ order });
    const sent = () => stack.sandbox.ledger({ operation: 'createOrder' }).map((call) => call.requestId);
    await expect.poll(sent).toContain(`ride.${account}.${requestId}`);
    const details = [{ status: 422, code: 'PRODUCT_NOT_FOUND' }];
    const refused = await failureOf(handle.executeUpdate('cancelRide'));
    expect(refused).toMatchObject({ type: 'Refused', details });
    expect(await failureOf(handle.result())).toMatchObject({ type: 'Refused', details });
  });

  it('at a partner account, or with bad input, is found out before anything is sent', async () => {
    const partner = await ordered({ account: toAccountName('partner') });
    expect(await failureOf(partner.handle.result())).toMatchObject({ type: 'InvalidInput' });
    const odd = await ordered({ poll: 5 } as never);
    expect(await failureOf(odd.handle.result())).toMatchObject({ type: 'InvalidInput', message: /poll/ });
  });
});

describe('the run of the order', () => {
  /** A ride whose create has made its order, but is not answered yet. */
  async function unanswered() {
    stack.sandbox.setFault({ kind: 'slow', delayMs: 4_000, operation: 'createOrder', times: 1 });
    const ride = await ordered();
    await expect.poll(() => ordersOf(stack, ride.requestId).length).toBe(1);
    return { ...ride, orderId: ordersOf(stack, ride.requestId)[0]?.orderId ?? '' };
  }

  it('may be there before the create is answered: the ride takes it', async () => {
    stack.sandbox.setBookingSettings({ script: goesOn });
    const { handle, orderId } = await unanswered();
    const { firstExecutionRunId } = await stack.follow('business', orderId);
    await stands(handle, { stage: 'following', status: 'Routing' });
    const looks = async () => Number((await handle.describe()).raw.pendingActivities?.[0]?.attempt);
    await expect.poll(looks).toBeGreaterThan(2); // from here on it looks once a minute
    stack.sandbox.setStatus('business', orderId, 'Completed');
    const started = Date.now();
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'completed' });
    expect(Date.now() - started, 'told by signal, not found by the slow look').toBeLessThan(30_000);
    expect((await runOf(orderId).describe()).runId).toBe(firstExecutionRunId);
  });

  it('may even have ended by then: its trail is taken', async () => {
    stack.sandbox.setBookingSettings({ script: completes.slice(-1).map((step) => ({ ...step, afterMs: 0 })) });
    const { handle, orderId } = await unanswered();
    const follow = await stack.follow('business', orderId);
    const trail = await follow.result();
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'completed', trail });
  });

  it('goes on when the ride is cancelled, even while its create is repeated', async () => {
    stack.sandbox.setBookingSettings({ script: goesOn });
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

  const namespace = 'default';
  it.each([
    ['terminates', (orderId: string) => runOf(orderId).terminate()],
    ['cancels', (orderId: string) => runOf(orderId).cancel()],
    [
      'deletes',
      (orderId: string) => {
        const workflowExecution = { workflowId: runOf(orderId).workflowId };
        return stack.client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
      },
    ],
  ])('is replaced by the ride as often as somebody %s it, and the ride has the right end', async (_, breakOff) => {
    stack.sandbox.setBookingSettings({ script: goesOn });
    const { handle, requestId } = await ordered({}, { limits: { ...shortLimits, maxEvents: 20 } });
    await stands(handle, { stage: 'following', status: 'Routing' });
    const { orderId } = await standingOf(handle);
    if (orderId === null) return expect.fail('no order');
    for (let times = 1; times <= 2; times += 1) {
      const { runId } = await runOf(orderId).describe();
      await breakOff(orderId);
      // It would be found by the next look, which may be a minute away.
      await handle.signal('rideOrderChanged', { account, orderId, outcome: 'stopped' } as never);
      await stands(handle, { stage: 'following', followedAgain: { times, reason: /^NotFollowed: / } });
      await expect.poll(() => runOf(orderId).describe()).not.toMatchObject({ runId });
      await expect
        .poll(() => runOf(orderId).query('orderTrail'))
        .toMatchObject({ reference: requestId, status: 'Routing' });
    }
    stack.sandbox.setStatus('business', orderId, 'Completed');
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'completed', trail: { outcome: 'completed' } });
    expect(ordersOf(stack, requestId)).toHaveLength(1);
  });

  it('ends the ride when a person stops it', async () => {
    stack.sandbox.setBookingSettings({ script: goesOn });
    const { handle } = await ordered();
    await stands(handle, { stage: 'following', status: 'Routing' });
    const run = runOf((await standingOf(handle)).orderId ?? '');
    await repeatWhenLost(() =>
      run.executeUpdate('stopFollowing', { args: [{ reason: 'by phone' }], updateId: 'stop' }),
    );
    expect(await handle.result()).toMatchObject({ outcome: 'stopped' });
  });

  it('is told of up to ten receivers and the ride, though a request takes ten', async () => {
    stack.sandbox.setBookingSettings({ script: completes });
    const notify = Array.from({ length: 10 }, (_, i) => ({ workflowId: `nobody-${i}`, signal: 'rideChanged' }));
    const { handle } = await ordered({ notify });
    const { orderId } = await handle.result();
    const { events } = await runOf(orderId ?? '').fetchHistory();
    const told = events?.flatMap((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes ?? []);
    const receivers = new Set(told?.map(({ workflowExecution }) => workflowExecution?.workflowId));
    expect(receivers).toEqual(new Set([handle.workflowId, ...notify.map(({ workflowId }) => workflowId)]));
  });
});
