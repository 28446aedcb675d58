import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import { askToken, call, newToken, quietOrder } from './calls.js';

let sandbox: Sandbox;
let financeToken: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  const { json } = await askToken(sandbox, 'business', { scope: 'finance' });
  financeToken = (json as { access_token: string }).access_token;
  sandbox.addOrder(quietOrder('business', 'b-1'));
});
afterAll(() => sandbox.close());

const query = `?businessId=${sandboxCredentials.business.businessId}`;
const receiptOf = (orderId: string, token = financeToken, search = query) =>
  call('GET', `${sandbox.url}/v1/orders/${orderId}/receipt${search}`, { authorization: `Bearer ${token}` });

describe('the receipt of an order', () => {
  it('is not there before the order has ended', async () => {
    expect(await receiptOf('b-1')).toMatchObject({ status: 404 });
    expect(await receiptOf('nobody')).toMatchObject({ status: 404 });
  });

  it.each([
    ['Completed', { driving: 18.5 }],
    ['Cancelled', { cancellation: 5 }],
  ])('is there once it is %s', async (status, calculation) => {
    sandbox.setStatus('business', 'b-1', status);
    expect(await receiptOf('b-1')).toMatchObject({
      status: 200,
      json: { payment_summary: { currency_code: 'EUR' }, calculation },
    });
    expect(sandbox.ledger({ orderId: 'b-1' }).at(-1)).toMatchObject({ operation: 'orderReceipt', scope: 'finance' });
  });

  it('is calculated anew some time after the end, or never', async () => {
    const total = async () =>
      ((await receiptOf('b-1')).json as { payment_summary: { total_inc_tax: string } }).payment_summary.total_inc_tax;
    for (const [status, first, second] of [
      ['Completed', '22.00', '24.20'],
      ['Cancelled', '5.50', '4.40'],
    ] as const) {
      sandbox.setBookingSettings({ receiptChangesAfterMs: 1_000 });
      sandbox.setStatus('business', 'b-1', status);
      expect(await total()).toBe(first);
      await expect.poll(total).toBe(second);
      sandbox.setBookingSettings({ receiptChangesAfterMs: null });
      expect(await total()).toBe(first);
    }
  });

  it('may come some time after the end', async () => {
    sandbox.setBookingSettings({ receiptAfterMs: 1_000 });
    sandbox.setStatus('business', 'b-1', 'Completed');
    expect((await receiptOf('b-1')).status).toBe(404);
    await expect.poll(async () => (await receiptOf('b-1')).status).toBe(200);
  });

  it('is refused without the scope finance, without a token, or for another company', async () => {
    expect(await receiptOf('b-1', await newToken(sandbox, 'business'))).toMatchObject({ status: 403 });
    expect(await receiptOf('b-1', 'nonsense')).toMatchObject({ status: 401 });
    expect(await receiptOf('b-1', financeToken, '')).toMatchObject({ status: 400 });
  });
});
