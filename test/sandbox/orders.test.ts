import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeDriver } from '../../sandbox/order-bodies.js';
import { sampleOrders, toSandboxOrder } from '../../sandbox/sample-orders.js';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import { call, codeOf, newToken, quietOrder, readBusinessOrder, readPartnerOrder } from './calls.js';

const { businessId } = sandboxCredentials.business;
const company = `?businessId=${businessId}`;
const speed = 1_000;
const hour = 3_600_000;

let sandbox: Sandbox;
let partnerToken: string;
let businessToken: string;
let financeToken: string;
beforeAll(async () => {
  sandbox = await startSandbox({ speed });
  partnerToken = await newToken(sandbox, 'partner');
  businessToken = await newToken(sandbox, 'business');
  financeToken = await newToken(sandbox, 'business', { scope: 'finance' });
  sandbox.addOrder(quietOrder('partner', 'p-1'));
  sandbox.addOrder(quietOrder('business', 'b-1'));
});
afterAll(() => sandbox.close());

const json = { 'content-type': 'application/json' };
const details = async (orderId: string) => (await readBusinessOrder(sandbox, orderId, businessToken)).json;
const statusOf = async (orderId: string) =>
  ((await readPartnerOrder(sandbox, orderId, partnerToken)).json as { order: { status: string } }).order.status;
const slowly = (orderId: string) => ({
  interface: 'partner' as const,
  orderId,
  script: ['Pending', 'Routing', 'Confirmed'].map((status, i) => ({ status, afterMs: i * hour * 10 })),
});

describe('an order', () => {
  it('takes its statuses in time, faster by the factor speed', async () => {
    const addedAt = Date.now();
    const script = ['Pending', 'Routing'].map((status, i) => ({ status, afterMs: i * 1_000_000 }));
    sandbox.addOrder({ interface: 'partner', orderId: 'timed', script });
    expect(await statusOf('timed')).toBe('Pending');
    await expect.poll(() => statusOf('timed'), { interval: 10 }).toBe('Routing');
    expect(Date.now() - addedAt).toBeGreaterThanOrEqual(999);
  });

  it('takes the next step when told to, and stays at the last or at a status that was set by hand', async () => {
    sandbox.addOrder(slowly('pushed'));
    const steps = [1, 2, 3].map(() => sandbox.advance('partner', 'pushed'));
    expect(steps).toEqual(['Routing', 'Confirmed', 'Confirmed']);
    sandbox.addOrder(slowly('handled'));
    sandbox.setStatus('partner', 'handled', 'Cancelled');
    expect(await statusOf('handled')).toBe('Cancelled');
    expect(sandbox.advance('partner', 'handled')).toBe('Cancelled');
  });

  it('is refused when its id was added before, or its script runs backwards', () => {
    expect(() => sandbox.addOrder(quietOrder('partner', 'p-1'))).toThrow(/orderId/);
    const script = [0, 2, 1].map((afterMs) => ({ status: 'Pending', afterMs }));
    expect(() => sandbox.addOrder({ interface: 'partner', orderId: 'x', script })).toThrow(/must not decrease/);
    expect(() => sandbox.addOrder({ ...slowly('x'), script: script.slice(1) })).toThrow(/afterMs 0/);
  });

  it('of each kind of the samples can be added and ends in a terminal status', () => {
    for (const [name, sample] of Object.entries(sampleOrders)) {
      sandbox.addOrder(toSandboxOrder(sample, name, speed));
      expect(['Completed', 'Cancelled', 'Rejected']).toContain(sample.script.at(-1)?.status);
    }
  });
});

describe('an order that is read', () => {
  it.each([
    ['nested', { order: { order_id: 'p-nested', status: 'Routing' } }],
    ['wrapped', { status: 'success', data: { order: { id: 'p-wrapped', status: 'Routing' } } }],
    ['flat', { order_id: 'p-flat', status: 'Routing' }],
  ] as const)('at the partner interface can be %s', async (shape, body) => {
    sandbox.addOrder({ ...quietOrder('partner', `p-${shape}`), shape });
    expect(await readPartnerOrder(sandbox, `p-${shape}`, partnerToken)).toMatchObject({ status: 200, json: body });
  });

  it('at the business interface shows times, supplier and driver as it advances, and no driver at its end', async () => {
    sandbox.addOrder({ ...quietOrder('business', 'b-2'), scheduledAt: '2030-01-01T10:00:00Z' });
    const before = await details('b-2');
    expect(before).toMatchObject({ id: 'b-2', status: 'Routing', scheduled_at: '2030-01-01T10:00:00Z' });
    expect(before).not.toHaveProperty('supplier');
    for (const status of ['Confirmed', 'Waiting', 'Driving']) sandbox.setStatus('business', 'b-2', status);
    const riding = await details('b-2');
    expect(riding).toMatchObject({
      ...{ status: 'Driving', will_arrive_at_pickup: expect.any(String), pickedup_at: expect.any(String) },
      supplier: { name: expect.any(String), code: expect.any(String), driver: fakeDriver },
      stops: [{ progress_status: 'Completed' }, { progress_status: 'Confirmed' }],
    });
    expect(riding).not.toHaveProperty('droppedoff_at');
    sandbox.setStatus('business', 'b-2', 'Completed');
    const over = await details('b-2');
    expect(over).toMatchObject({ droppedoff_at: expect.any(String), supplier: { code: expect.any(String) } });
    expect(over).not.toHaveProperty('supplier.driver');
  });

  it('at the partner interface needs its scope and its content type', async () => {
    expect((await readPartnerOrder(sandbox, 'p-1', businessToken)).status).toBe(403);
    const partner = { authorization: `Bearer ${partnerToken}` };
    for (const headers of [partner, { ...partner, 'content-type': 'text/plain' }])
      expect((await call('GET', `${sandbox.url}/v1/private/orders/status/p-1`, headers)).status).toBe(400);
  });

  it.each([
    ['missing', {}],
    ['unknown', { authorization: 'Bearer abc.def.ghi' }],
    ['sent as Basic', { authorization: 'Basic abc' }],
  ])('is refused with 401 when its token is %s', async (_case, headers) => {
    const seen = await call('GET', `${sandbox.url}/v1/private/orders/status/p-1`, { ...json, ...headers });
    expect(seen.status).toBe(401);
    expect((await call('GET', `${sandbox.url}/v1/orders/b-1${company}`, headers)).status).toBe(401);
  });

  it('is refused with 401 once its token has expired', async () => {
    const hasty = await startSandbox({ partner: { tokenLifetimeSeconds: 1 } });
    hasty.addOrder(quietOrder('partner', 'p-1'));
    const token = await newToken(hasty, 'partner');
    const inTime = await readPartnerOrder(hasty, 'p-1', token);
    await wait(1_050);
    const late = await readPartnerOrder(hasty, 'p-1', token);
    await hasty.close();
    expect([inTime.status, late.status, codeOf(late)]).toEqual([200, 401, 'TOKEN_EXPIRED']);
  });

  it.each([
    ['GET', '/'],
    ['POST', '/v2/oauth/token'],
    ['GET', '/v1/private/orders/p-1'],
    ['POST', '/v1/private/orders/status/p-1'],
    ['DELETE', '/v1/orders/b-1'],
  ])('is not found at another path: %s %s', async (method, path) => {
    const seen = await call(method, sandbox.url + path);
    expect([seen.status, codeOf(seen)]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('the receipt of an order', () => {
  const receiptOf = (orderId: string) =>
    call('GET', `${sandbox.url}/v1/orders/${orderId}/receipt${company}`, { authorization: `Bearer ${financeToken}` });

  it('is not there before the order has ended', async () => {
    const seen = await Promise.all(['b-1', 'none'].map(receiptOf));
    expect(seen.map(({ status }) => status)).toEqual([404, 404]);
  });

  it.each([
    ['Completed', { driving: 18.5 }, '22.00', '24.20'],
    ['Cancelled', { cancellation: 5 }, '5.50', '4.40'],
  ])('is there once it is %s, and may be calculated anew later', async (status, calculation, first, second) => {
    const orderId = `receipt-${status}`;
    sandbox.addOrder(quietOrder('business', orderId));
    sandbox.setBookingSettings({ receiptChangesAfterMs: 1_000_000 }); // a second at this speed
    sandbox.setStatus('business', orderId, status);
    const total = async () =>
      ((await receiptOf(orderId)).json as { payment_summary: { total_inc_tax: string } }).payment_summary.total_inc_tax;
    expect(await total()).toBe(first);
    expect((await receiptOf(orderId)).json).toMatchObject({ payment_summary: { currency_code: 'EUR' }, calculation });
    await expect.poll(total).toBe(second);
  });
});
