import { beforeEach, describe, expect, it } from 'vitest';
import { controlSandbox, type SandboxControl } from '../../../dev/sandbox/control/client.js';
import { createLedger, type LedgerEntry } from '../../../dev/sandbox/ledger.js';
import { mostCallsWithin, tokenRequestsIn } from '../../../dev/sandbox/ledger-questions.js';
import { type Sandbox, sandboxCredentials } from '../../../dev/sandbox/sandbox.js';
import { askToken, call, newToken, readBusinessOrder, readPartnerOrder, sandboxOfOneTest } from './calls.js';

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
  it('read what the sandbox knows, all of it or a part, and reset it', async () => {
    await readPartnerOrder(sandbox, 'p-1', token);
    const settings = await control.setDeliverySettings({ shape: 'nested', retryDelaysMs: [] });
    expect(settings).toMatchObject({ shape: 'nested', enabled: true, retryDelaysMs: [], timeoutMs: 5_000 });
    const unreachable = { hookAddress: 'http://127.0.0.1:1', eventType: 'status_changed' } as const;
    const { id: subscriberId } = await control.addSubscriber(unreachable);
    expect(await control.deliver({ orderIds: ['b-1'], copies: 2 })).toMatchObject({ sent: 2, byAnswer: { none: 2 } });
    const orders = ['createdOrders', 'referenceCodes', 'rideSettings'] as const;
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
});
