import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLedger, type LedgerEntry } from '../../sandbox/ledger.js';
import {
  maxCallsInOneSecond,
  readDistancesMs,
  readsPerOrder,
  tokenRequestsIn,
} from '../../sandbox/ledger-questions.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import {
  askToken,
  businessClientId,
  call,
  newToken,
  partnerId,
  quietOrder,
  readBusinessOrder,
  readPartnerOrder,
} from './calls.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  for (const orderId of ['p-1', 'p-2']) sandbox.addOrder(quietOrder('partner', orderId));
});
beforeEach(() => sandbox.resetLedger());
afterAll(() => sandbox.close());

describe('the ledger', () => {
  it('tells of a token request who asked for what, and which token it got', async () => {
    await askToken(sandbox, 'business', { scope: 'finance' });
    const tokenNumber = sandbox.issuedTokens().length;
    expect(sandbox.ledger()).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        operation: 'businessToken',
        method: 'POST',
        path: '/oauth/token',
        clientId: businessClientId,
        scope: 'finance',
        tokenNumber,
        httpStatus: 200,
        fault: undefined,
      },
    ]);
  });

  it('tells of a read which order, which token and which fault', async () => {
    const token = await newToken(sandbox, 'partner');
    const tokenNumber = sandbox.issuedTokens().length;
    sandbox.setFault({ kind: 'unavailable', times: 1 });
    await readPartnerOrder(sandbox, 'p-1', token);
    expect(sandbox.ledger({ operation: 'orderStatus' })).toMatchObject([
      {
        orderId: 'p-1',
        clientId: partnerId,
        scope: 'demand_partner',
        tokenNumber,
        httpStatus: 503,
        fault: 'unavailable',
      },
    ]);
  });

  it('holds no token, no secret and no query', async () => {
    const token = await newToken(sandbox, 'partner');
    await readBusinessOrder(sandbox, 'b-1', token);
    await call('GET', `${sandbox.url}/nowhere?access_token=${token}`);
    const text = JSON.stringify(sandbox.ledger());
    expect(text).not.toContain(token);
    expect(text).not.toContain('secret');
    expect(text).not.toContain('?');
  });

  it('notes calls on unknown paths as unknown', async () => {
    await call('GET', `${sandbox.url}/nowhere`);
    expect(sandbox.ledger()).toMatchObject([{ operation: 'unknown', path: '/nowhere', httpStatus: 404 }]);
  });

  it('does not note its own commands', async () => {
    await call('GET', `${sandbox.url}/sandbox/counts`);
    expect(sandbox.ledger()).toEqual([]);
  });

  it('gives the entries of an operation, an order, a client, or from an instant on', async () => {
    const token = await newToken(sandbox, 'partner');
    await readPartnerOrder(sandbox, 'p-1', token);
    await wait(5);
    const since = new Date().toISOString();
    await readPartnerOrder(sandbox, 'p-2', token);
    expect(sandbox.ledger({ operation: 'partnerToken' })).toHaveLength(1);
    expect(sandbox.ledger({ orderId: 'p-1' })).toHaveLength(1);
    expect(sandbox.ledger({ clientId: partnerId })).toHaveLength(3);
    expect(sandbox.ledger({ clientId: 'nobody' })).toEqual([]);
    expect(sandbox.ledger({ since })).toMatchObject([{ orderId: 'p-2' }]);
  });

  it('counts calls by operation and by status', async () => {
    const token = await newToken(sandbox, 'partner');
    await readPartnerOrder(sandbox, 'p-1', token);
    await readPartnerOrder(sandbox, 'none', token);
    sandbox.setFault({ kind: 'dropConnection', times: 1 });
    await expect(readPartnerOrder(sandbox, 'p-1', token)).rejects.toThrow();
    expect(sandbox.counts()).toEqual({
      total: 4,
      kept: 4,
      tokensIssued: 1,
      byOperation: expect.objectContaining({ partnerToken: 1, businessToken: 0, orderStatus: 3, unknown: 0 }),
      byStatus: { 200: 2, 404: 1, none: 1 },
    });
  });

  it('keeps counting when it is full', () => {
    const ledger = createLedger(2);
    for (let i = 0; i < 5; i += 1) ledger.record(entry({}), false);
    expect(ledger.entries()).toHaveLength(2);
    expect(ledger.counts()).toMatchObject({ total: 5, kept: 2, byOperation: { orderStatus: 5 } });
  });
});

const entry = (change: Partial<LedgerEntry>): LedgerEntry => ({
  at: '2030-01-01T00:00:00.000Z',
  operation: 'orderStatus',
  method: 'GET',
  path: '/',
  httpStatus: 200,
  ...change,
});
const at = (ms: number) => new Date(Date.UTC(2030, 0, 1) + ms).toISOString();

describe('a question to the ledger', () => {
  it('tells token requests per client and set of scopes, with their times', () => {
    const token = (scope: string, ms: number) =>
      entry({ operation: 'businessToken', clientId: 'c', scope, at: at(ms) });
    expect(tokenRequestsIn([token('order finance', 0), entry({}), token('', 5), token('finance order', 9)])).toEqual([
      { clientId: 'c', scope: 'finance order', times: [at(0), at(9)] },
      { clientId: 'c', scope: '', times: [at(5)] },
    ]);
  });

  it('tells reads per order and the distance between them', () => {
    const entries = [
      entry({ orderId: 'a', at: at(0) }),
      entry({ orderId: 'b', at: at(5) }),
      entry({ orderId: 'a', at: at(30) }),
    ];
    expect(readsPerOrder(entries)).toEqual({ a: 2, b: 1 });
    expect(readDistancesMs(entries, 'a')).toEqual([30]);
    expect(readDistancesMs(entries, 'b')).toEqual([]);
  });

  it('tells the most calls in any window of one second', () => {
    const times = [0, 600, 900, 1000, 1599, 3000];
    expect(maxCallsInOneSecond(times.map((ms) => entry({ at: at(ms) })))).toBe(4);
    expect(maxCallsInOneSecond([0, 500, 1000].map((ms) => entry({ at: at(ms) })))).toBe(2);
    expect(maxCallsInOneSecond([])).toBe(0);
  });
});
