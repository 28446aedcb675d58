import { beforeEach, describe, expect, it } from 'vitest';
import { controlSandbox, type SandboxControl } from '../../../dev/sandbox/control/client.js';
import { type Sandbox, sandboxCredentials } from '../../../dev/sandbox/sandbox.js';
import { call, newToken, readBusinessOrder, readPartnerOrder, sandboxOfOneTest } from './calls.js';

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
});

describe('another process can', () => {
  it('read what the sandbox knows, all of it or a part, and reset it', async () => {
    await readPartnerOrder(sandbox, 'p-1', token);
    const settings = await control.setDeliverySettings({ signatureHeader: 'X-Seal', retries: 2 });
    expect(settings).toMatchObject({ signatureHeader: 'X-Seal', enabled: true, retries: 2, timeoutMs: 5_000 });
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

const read = (orderId = 'p-1') => readPartnerOrder(sandbox, orderId, token);

describe('a fault hits', () => {
  it('only the calls of its operation, or of the order it names', async () => {
    sandbox.setFault({ kind: 'serverError', operation: 'orderDetails' });
    expect((await read()).status).toBe(200);
    expect((await readBusinessOrder(sandbox, 'b', token)).status).toBe(500);
    sandbox.setFault({ kind: 'unavailable', orderId: 'p-2' });
    expect((await read('p-1')).status).toBe(200);
    expect((await read('p-2')).status).toBe(503);
  });

  it('the same calls again for the same seed and probability', async () => {
    const hits = async (seed: number) => {
      const other = await sandboxOfOneTest({ seed });
      other.setFault({ kind: 'serverError', probability: 0.5 });
      const statuses: number[] = [];
      for (let i = 0; i < 40; i += 1) statuses.push((await readPartnerOrder(other, 'x', 'none')).status);
      return statuses;
    };
    const first = await hits(1);
    expect(await hits(1)).toEqual(first);
    expect(await hits(2)).not.toEqual(first);
    const share = first.filter((status) => status === 500).length;
    expect(share).toBeGreaterThan(8);
    expect(share).toBeLessThan(32);
  });
});
