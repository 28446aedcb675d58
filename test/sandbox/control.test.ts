import { setTimeout as wait } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLedger, type LedgerEntry } from '../../sandbox/ledger.js';
import { mostCallsWithin, readDistancesMs, readsPerOrder, tokenRequestsIn } from '../../sandbox/ledger-questions.js';
import { type Sandbox, sandboxCredentials } from '../../sandbox/sandbox.js';
import { controlSandbox, type SandboxControl } from '../../sandbox/sandbox-control.js';
import {
  askToken,
  call,
  newToken,
  quietOrder,
  readBusinessOrder,
  readPartnerOrder,
  sandboxOfOneTest,
} from './calls.js';

const partnerId = sandboxCredentials.partner.clientId;
let sandbox: Sandbox;
let control: SandboxControl;
let token: string;
beforeEach(async () => {
  sandbox = await sandboxOfOneTest();
  control = controlSandbox(sandbox.url);
  token = await newToken(sandbox, 'partner');
  sandbox.resetLedger();
});

describe('the ledger', () => {
  it('has client, scope and token of a token request', async () => {
    await askToken(sandbox, 'business', { scope: 'finance' });
    const entry = {
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      ...{ operation: 'businessToken', method: 'POST', path: '/oauth/token', httpStatus: 200, fault: undefined },
      ...{ clientId: sandboxCredentials.business.clientId, scope: 'finance', tokenNumber: 2 },
    };
    expect(sandbox.ledger()).toEqual([entry]);
  });

  it('has order, token number and fault of a read, and never a token, a secret or a query', async () => {
    sandbox.setFault({ kind: 'unavailable', times: 1 });
    await readPartnerOrder(sandbox, 'p-1', token);
    const entry = { orderId: 'p-1', clientId: partnerId, scope: 'demand_partner', tokenNumber: 1 };
    const faulty = [{ ...entry, httpStatus: 503, fault: 'unavailable' }];
    expect(sandbox.ledger({ operation: 'orderStatus' })).toMatchObject(faulty);
    await readBusinessOrder(sandbox, 'b-1', token);
    await call('GET', `${sandbox.url}/nowhere?access_token=${token}`);
    expect(sandbox.ledger()).toHaveLength(3);
    expect(JSON.stringify(sandbox.ledger())).not.toMatch(new RegExp(`${token}|secret|\\?`));
  });

  it('gives the entries of an operation, an order, a client, or from an instant on', async () => {
    await readPartnerOrder(sandbox, 'p-1', token);
    await wait(5);
    const since = new Date().toISOString();
    await readPartnerOrder(sandbox, 'p-2', token);
    expect(sandbox.ledger({ operation: 'orderStatus', orderId: 'p-1' })).toHaveLength(1);
    expect(sandbox.ledger({ clientId: partnerId })).toHaveLength(2);
    expect(sandbox.ledger({ clientId: 'another' })).toEqual([]);
    expect(sandbox.ledger({ since })).toMatchObject([{ orderId: 'p-2' }]);
  });

  it('counts calls by operation and by status, also when it is full', async () => {
    await readPartnerOrder(sandbox, 'p-1', token);
    await readPartnerOrder(sandbox, 'none', token);
    sandbox.setFault({ kind: 'dropConnection', times: 1 });
    await expect(readPartnerOrder(sandbox, 'p-1', token)).rejects.toThrow();
    expect(sandbox.counts()).toMatchObject({
      total: 3,
      byOperation: { partnerToken: 0, orderStatus: 3, unknown: 0 },
      byStatus: { 200: 1, 404: 1, none: 1 },
    });
    const ledger = createLedger(2);
    for (let i = 0; i < 5; i += 1) ledger.record(entryWith({}), false);
    expect(ledger.entries()).toHaveLength(2);
    expect(ledger.counts()).toMatchObject({ total: 5, kept: 2, byOperation: { orderStatus: 5 } });
  });
});

const at = (ms: number) => new Date(Date.UTC(2030, 0, 1) + ms).toISOString();
const entryWith = (change: Partial<LedgerEntry>): LedgerEntry => ({
  ...{ at: at(0), operation: 'orderStatus', method: 'GET', path: '/', httpStatus: 200 },
  ...change,
});

describe('a question to the ledger', () => {
  it('tells token requests per client and set of scopes, with their times', () => {
    const asked = (scope: string, ms: number) =>
      entryWith({ operation: 'businessToken', clientId: 'c', scope, at: at(ms) });
    const entries = [asked('order finance', 0), entryWith({}), asked('', 5), asked('finance order', 9)];
    expect(tokenRequestsIn(entries)).toEqual([
      { clientId: 'c', scope: 'finance order', times: [at(0), at(9)] },
      { clientId: 'c', scope: '', times: [at(5)] },
    ]);
  });

  it('tells reads per order and the distance between them', () => {
    const reads = [['a', 0] as const, ['b', 5] as const, ['a', 30] as const];
    const entries = reads.map(([orderId, ms]) => entryWith({ orderId, at: at(ms) }));
    expect(readsPerOrder(entries)).toEqual({ a: 2, b: 1 });
    expect(readDistancesMs(entries, 'a')).toEqual([30]);
    expect(readDistancesMs(entries, 'b')).toEqual([]);
  });

  it('tells the most calls in any window of one second', () => {
    const most = (...times: number[]) =>
      mostCallsWithin(
        1_000,
        times.map((ms) => entryWith({ at: at(ms) })),
      );
    expect([most(0, 600, 900, 1000, 1599, 3000), most(0, 500, 1000), most()]).toEqual([4, 2, 0]);
  });
});

describe('another process can', () => {
  it('add orders, one or many, and move them', async () => {
    const script = ['Pending', 'Routing'].map((status, i) => ({ status, afterMs: i * 3_600_000 }));
    await control.addOrder({ interface: 'partner', orderId: 'a/1', script });
    await control.addOrders([quietOrder('partner', 'b'), quietOrder('partner', 'c')]);
    expect(await control.advance('partner', 'a/1')).toBe('Routing');
    expect(await control.advance('partner', 'a/1')).toBe('Routing'); // its last
    await control.setStatus('partner', 'a/1', 'Confirmed');
    expect(await control.advance('partner', 'a/1')).toBe('Confirmed'); // nothing is left of its script
    const { json } = await readPartnerOrder(sandbox, 'a/1', token);
    expect(json).toMatchObject({ order: { status: 'Confirmed' } });
    const course = await control.orderCourse('partner', 'a/1');
    expect(course.map(({ status }) => status)).toEqual(['Pending', 'Routing', 'Confirmed']);
  });

  it('read what the sandbox knows, all of it or a part, and reset it', async () => {
    await readPartnerOrder(sandbox, 'p-1', token);
    const settings = await control.setDeliverySettings({ shape: 'nested', retryDelaysMs: [] });
    expect(settings).toMatchObject({ shape: 'nested', enabled: true, retryDelaysMs: [], timeoutMs: 5_000 });
    const unreachable = { hookAddress: 'http://127.0.0.1:1', eventType: 'status_changed' } as const;
    const { id: subscriberId } = await control.addSubscriber(unreachable);
    expect(await control.deliver({ orderIds: ['b-1'], copies: 2 })).toMatchObject({ sent: 2, byAnswer: { none: 2 } });
    const orders = ['createdOrders', 'referenceCodes', 'bookingSettings'] as const;
    const deliveries = ['subscribers', 'deliveries', 'deliveryCounts', 'deliverySettings'] as const;
    for (const name of ['ledger', 'counts', 'issuedTokens', ...orders, ...deliveries] as const)
      expect(await control[name](), name).toEqual(JSON.parse(JSON.stringify(sandbox[name]())));
    expect(await control.ledger({ orderId: 'p-1', operation: undefined })).toHaveLength(1);
    expect(await control.ledger({ orderId: 'p-2' })).toEqual([]);
    expect(await control.deliveries({ subscriberId })).toHaveLength(2);
    expect(await control.deliveries({ orderId: 'b-2' })).toEqual([]);
    await Promise.all([control.resetLedger(), control.resetDeliveries()]);
    expect([await control.ledger(), await control.deliveries()]).toEqual([[], []]);
  });

  const order = { ...quietOrder('partner', 'x') };
  it.each([
    ['POST', 'orders', { ...order, interface: 'other' }, 'interface'],
    ['POST', 'orders', { ...order, script: [{ status: '', afterMs: 0 }] }, 'script.0.status'],
    ['POST', 'orders/batch', { orders: [order, { ...order, orderId: 7 }] }, 'orders.1.orderId'],
    ['PUT', 'orders/partner/nowhere/status', { status: 'Pending' }, 'orderId'],
    ['POST', 'faults', { kind: 'nonsense' }, 'kind'],
    ['POST', 'faults', { kind: 'slow', delayMs: 1, probability: 2 }, 'probability'],
    ['POST', 'faults', { kind: 'subscriberAnswer', operation: 'orderDetails' }, 'createSubscriber'],
    ['POST', 'credentials', { interface: 'partner', clientId: 'x' }, 'clientSecret'],
    ['POST', 'lifetime', { interface: 'partner', seconds: 'long' }, 'seconds'],
    ['POST', 'down', { down: 'yes' }, 'down'],
    ['PUT', 'bookings/settings', { forgetsRequestIds: 'yes' }, 'forgetsRequestIds'],
    ['POST', 'deliveries', {}, 'no subscriber exists for status_changed'],
    ['POST', 'deliveries', { subscriberId: 'x' }, 'subscriberId'],
    ['PUT', 'deliveries/settings', { lost: 2 }, 'lost'],
    ['POST', 'orders', '{', 'body'],
  ])('not send a wrong command; 400 names the field: %s /sandbox/%s %j', async (method, path, input, field) => {
    const body = typeof input === 'string' ? input : JSON.stringify(input);
    const seen = await call(method, `${sandbox.url}/sandbox/${path}`, { 'content-type': 'application/json' }, body);
    expect(seen).toMatchObject({ status: 400, json: { error: 'InvalidInput' } });
    expect(seen.text).toContain(field);
  });
});
