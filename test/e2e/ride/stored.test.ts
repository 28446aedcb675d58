import { describe, expect, it, vi } from 'vitest';
import { toOrderId } from '../../../src/domain/keys.js';
import { reported } from '../../support/delivery/deliveries.js';
import { patient } from '../../support/patience.js';
import {
  account,
  completes,
  doubtfulRide,
  requestedRide,
  rideUnderWay,
  shortLimits,
} from '../../support/ride/rides.js';
import { useStoreStack } from '../../support/store/stack.js';

const { postgres, opened, stack } = useStoreStack();

const rideOf = async (requestId: string) =>
  (await postgres.rows('select * from faretrail.rides where request_id = $1', [requestId]))[0];
/** On a busy machine a row comes a moment after its change. */
const isStored = (requestId: string, shown: object) =>
  vi.waitFor(async () => expect(await rideOf(requestId)).toMatchObject(shown), patient);
const attentionOf = (id: string) =>
  postgres.rows('select kind, code, cleared_at from faretrail.attention where id = $1 order by since', [id]);
const receiptsOf = (orderId: string) =>
  postgres.rows('select version, currency, total, net, tax from faretrail.receipts where order_id = $1 order by 1', [
    orderId,
  ]);

describe('the store', () => {
  it('has a ride, its end, and each receipt with other amounts', async () => {
    stack.sandbox.setRideSettings({ script: completes, receiptAfterMs: 0, receiptChangesAfterMs: [4_000] });
    const limits = { ...shortLimits, receiptUnchangedMs: 5_000 };
    const { handle, requestId } = await requestedRide(stack, { receipt: true }, { limits });
    const { orderId } = await handle.result();
    await isStored(requestId, {
      ...{ account: 'business', order_id: orderId, ended: true, outcome: 'completed' },
      ...{ failure: null, attention: null },
    });
    expect(await receiptsOf(orderId ?? '')).toEqual([
      { version: 1, currency: 'GBP', total: '48', net: '40', tax: '8' },
      { version: 2, currency: 'GBP', total: '54', net: '45', tax: '9' },
    ]);
    expect(await attentionOf(requestId)).toEqual([]);
  });

  it('has the receipts that the service recalculates after the end, once a report says so', async () => {
    stack.sandbox.setRideSettings({ script: completes, receiptAfterMs: 0, receiptChangesAfterMs: [] });
    const { handle } = await requestedRide(stack, { receipt: true }, { limits: shortLimits });
    const { orderId } = await handle.result();
    expect(await receiptsOf(orderId ?? '')).toHaveLength(1);
    stack.sandbox.setRideSettings({ receiptChangesAfterMs: [0] });
    const limits = { quietMs: 1_000 };
    const report = await reported(stack, { orderId: toOrderId(orderId ?? ''), limits });
    await report.result();
    expect((await receiptsOf(orderId ?? '')).map(({ total }) => total)).toEqual(['48', '54']);
  });

  it('shows that a ride waits for a person, and until when; erasing its order takes the ride, its receipts and its attention away', async () => {
    const { requestId, orderId, resolve, cancelled } = await doubtfulRide(stack);
    await isStored(requestId, { order_id: null, ended: false, attention: 'outcomeUnknown' });
    expect(await attentionOf(requestId)).toEqual([{ kind: 'ride', code: 'outcomeUnknown', cleared_at: null }]);
    await resolve({ orderId });
    await isStored(requestId, { order_id: orderId, attention: null });
    expect(await attentionOf(requestId)).toEqual([
      { kind: 'ride', code: 'outcomeUnknown', cleared_at: expect.any(Date) },
    ]);
    await cancelled();
    await isStored(requestId, { ended: true, outcome: 'cancelled' });
    const at = new Date().toISOString();
    const amounts = { currency: 'EUR', total: '7.50', net: null, tax: null };
    const change = { account, orderId: toOrderId(orderId), ...amounts };
    await opened.store.record({ run: 'run', notice: 1, at, type: 'ride.receipt', change });
    expect(await opened.store.erase({ account, orderId: toOrderId(orderId) })).toBeGreaterThan(3);
    expect(await rideOf(requestId)).toBeUndefined();
    expect([await attentionOf(requestId), await receiptsOf(orderId)]).toEqual([[], []]);
  });

  it('that is away holds no ride up, and gets its end and its receipt when it is back', async () => {
    stack.sandbox.setRideSettings({ script: completes, receiptAfterMs: 0, receiptChangesAfterMs: [1_200] });
    await postgres.stop();
    const { handle, requestId } = await requestedRide(stack, { receipt: true });
    const { orderId, outcome, receipt } = await handle.result();
    expect(outcome).toBe('completed');
    await postgres.start();
    await isStored(requestId, { ended: true, outcome });
    const last = (await receiptsOf(orderId ?? '')).at(-1);
    expect(receipt).toMatchObject({ payment_summary: { total_inc_tax: Number(last?.total) } });
  });

  it('keeps a ride that continues as new', async () => {
    const { handle, requestId } = await rideUnderWay(stack, {}, { ...shortLimits, maxEvents: 20 });
    await vi.waitFor(async () => expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId), patient);
    await handle.executeUpdate('cancelRide');
    await handle.result();
    await isStored(requestId, { ended: true, run: handle.firstExecutionRunId });
  });
});
