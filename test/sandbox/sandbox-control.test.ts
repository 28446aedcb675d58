import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { controlSandbox, type SandboxControl } from '../../sandbox/sandbox-control.js';
import { businessCall, newRide } from './booking-calls.js';
import { askToken, call, newToken, partnerId, quietOrder, readPartnerOrder } from './calls.js';

let sandbox: Sandbox;
let control: SandboxControl;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  control = controlSandbox(sandbox.url);
  token = await newToken(sandbox, 'partner');
});
afterAll(() => sandbox.close());

const statusOf = async (orderId: string) => (await readPartnerOrder(sandbox, orderId, token)).json;

describe('from another process one can', () => {
  it('add orders, one or many, and move them', async () => {
    const script = [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 3_600_000 },
    ];
    await control.addOrder({ interface: 'partner', orderId: 'a/1', script });
    await control.addOrders([quietOrder('partner', 'b'), quietOrder('partner', 'c')]);
    expect(await control.advance('partner', 'a/1')).toBe('Routing');
    await control.setStatus('partner', 'a/1', 'Confirmed');
    expect(await statusOf('a/1')).toMatchObject({ order: { status: 'Confirmed' } });
    expect(await statusOf('c')).toMatchObject({ order: { status: 'Routing' } });
    const course = await control.orderCourse('partner', 'a/1');
    expect(course.map(({ status }) => status)).toEqual(['Pending', 'Routing', 'Confirmed']);
    expect(Date.parse(course[2]?.at ?? '')).toBeLessThanOrEqual(Date.now());
  });

  it('set and clear faults', async () => {
    const first = await control.setFault({ kind: 'serverError' });
    await control.setFault({ kind: 'forbidden', orderId: 'b' });
    expect((await askToken(sandbox, 'partner')).status).toBe(500);
    expect(await control.clearFault(first)).toBe(true);
    expect((await readPartnerOrder(sandbox, 'b', token)).status).toBe(403);
    await control.clearFaults();
    expect((await readPartnerOrder(sandbox, 'b', token)).status).toBe(200);
  });

  it('revoke tokens, rotate credentials and shorten lifetimes', async () => {
    const revoked = await newToken(sandbox, 'partner');
    expect(await control.revokeTokens('nobody')).toBe(0);
    expect(await control.revokeTokens(partnerId)).toBe(2);
    expect((await readPartnerOrder(sandbox, 'b', revoked)).status).toBe(401);
    await control.setTokenLifetime('partner', 60);
    await control.setCredentials('partner', { clientId: 'new', clientSecret: 'newer' });
    expect((await askToken(sandbox, 'partner')).status).toBe(401);
    const answer = await askToken(sandbox, 'partner', { client_id: 'new', client_secret: 'newer' });
    expect(answer.json).toMatchObject({ expires_in: 60 });
    token = (answer.json as { access_token: string }).access_token;
  });

  it('take the service down and up again', async () => {
    await control.setDown(true);
    await expect(askToken(sandbox, 'business')).rejects.toThrow();
    await control.setDown(false);
    expect((await askToken(sandbox, 'business')).status).toBe(200);
  });

  it('read and reset the ledger, the counters and the issued tokens', async () => {
    await statusOf('b');
    expect(await control.ledger({ orderId: 'b', operation: undefined })).toEqual(
      JSON.parse(JSON.stringify(sandbox.ledger({ orderId: 'b' }))),
    );
    expect(await control.counts()).toEqual(sandbox.counts());
    expect(await control.issuedTokens()).toContain(token);
    await control.resetLedger();
    expect(await control.ledger()).toEqual([]);
  });

  it('see what was created, and change how', async () => {
    expect(await control.setBookingSettings({ forgetsRequestIds: true })).toMatchObject({ forgetsRequestIds: true });
    expect(await control.bookingSettings()).toEqual(sandbox.bookingSettings());
    const business = await newToken(sandbox, 'business', { scope: 'order company.reference' });
    await businessCall(sandbox, 'POST', '/v1/orders', newRide(), { token: business, requestId: 'r-1' });
    await businessCall(sandbox, 'POST', '/v1/reference-fields/11/codes', [{ value: 'A1' }], { token: business });
    expect(await control.createdOrders()).toMatchObject([{ requestId: 'r-1', order: newRide() }]);
    expect(await control.referenceCodes()).toMatchObject([{ referenceFieldId: '11', value: 'A1' }]);
  });

  it('ask whether it is there', async () => {
    expect(await control.isHealthy()).toBe(true);
    const gone = await startSandbox();
    await gone.close();
    expect(await controlSandbox(gone.url).isHealthy()).toBe(false);
  });
});

describe('a bad command is refused with 400 and names the field', () => {
  const order = { ...quietOrder('partner', 'x') };
  it.each([
    ['POST', 'orders', { ...order, interface: 'nobody' }, 'interface'],
    ['POST', 'orders', { ...order, script: [{ status: '', afterMs: 0 }] }, 'script.0.status'],
    ['POST', 'orders', { ...order, scheduledAt: 'tomorrow' }, 'scheduledAt'],
    ['POST', 'orders/batch', { orders: [order, { ...order, orderId: 7 }] }, 'orders.1.orderId'],
    ['PUT', 'orders/partner/x/status', {}, 'status'],
    ['PUT', 'orders/partner/nowhere/status', { status: 'Pending' }, 'orderId'],
    ['POST', 'faults', { kind: 'nonsense' }, 'kind'],
    ['POST', 'faults', { kind: 'slow' }, 'delayMs'],
    ['POST', 'faults', { kind: 'slow', delayMs: 1, probability: 2 }, 'probability'],
    ['POST', 'credentials', { interface: 'partner', clientId: 'x' }, 'clientSecret'],
    ['POST', 'lifetime', { interface: 'partner', seconds: 'long' }, 'seconds'],
    ['POST', 'down', { down: 'yes' }, 'down'],
    ['POST', 'revoke', { client: 'x' }, 'client'],
    ['PUT', 'bookings/settings', { forgetsRequestIds: 'yes' }, 'forgetsRequestIds'],
    ['PUT', 'bookings/settings', { script: [] }, 'script'],
    ['POST', 'faults', { kind: 'serverError', when: 'middle' }, 'when'],
    ['POST', 'orders', '[]', 'body'],
    ['POST', 'orders', '{', 'body'],
  ])('%s /sandbox/%s %j', async (method, path, input, field) => {
    const body = typeof input === 'string' ? input : JSON.stringify(input);
    const seen = await call(method, `${sandbox.url}/sandbox/${path}`, { 'content-type': 'application/json' }, body);
    expect(seen).toMatchObject({ status: 400, json: { error: 'InvalidInput' } });
    expect(seen.text).toContain(field);
  });

  it('and the client repeats the reason', async () => {
    await expect(control.setStatus('partner', 'nowhere', 'Pending')).rejects.toThrow(/no order nowhere/);
  });
});
