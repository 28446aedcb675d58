import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleOrders, toSandboxOrder } from '../../sandbox/sample-orders.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { rideStatuses } from '../../src/domain/order/status.js';
import { newToken, readBusinessOrder, readPartnerOrder } from './calls.js';

const speed = 1000;
let sandbox: Sandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox({ speed });
  token = await newToken(sandbox, 'partner');
});
afterAll(() => sandbox.close());

async function statusOf(orderId: string): Promise<string> {
  const { json } = await readPartnerOrder(sandbox, orderId, token);
  return (json as { order: { status: string } }).order.status;
}

const hour = 3_600_000;
const slowly = (orderId: string) => ({
  interface: 'partner' as const,
  orderId,
  script: ['Pending', 'Routing', 'Confirmed', 'Waiting'].map((status, i) => ({ status, afterMs: i * hour * 10 })),
});

describe('an order', () => {
  it('takes its statuses in time, faster by the factor speed', async () => {
    const script = [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 1_000_000 },
    ];
    const addedAt = Date.now();
    sandbox.addOrder({ interface: 'partner', orderId: 'timed', script });
    expect(await statusOf('timed')).toBe('Pending');
    await expect.poll(() => statusOf('timed'), { interval: 10 }).toBe('Routing');
    expect(Date.now() - addedAt).toBeGreaterThanOrEqual(999);
  });

  it('takes the next step when told to, and stays at the last', async () => {
    sandbox.addOrder(slowly('pushed'));
    expect(sandbox.advance('partner', 'pushed')).toBe('Routing');
    expect(await statusOf('pushed')).toBe('Routing');
    expect(sandbox.advance('partner', 'pushed')).toBe('Confirmed');
    expect(sandbox.advance('partner', 'pushed')).toBe('Waiting');
    expect(sandbox.advance('partner', 'pushed')).toBe('Waiting');
  });

  it('keeps a status set by hand, whatever its script says next', async () => {
    sandbox.addOrder(slowly('handled'));
    sandbox.setStatus('partner', 'handled', 'Cancelled');
    expect(await statusOf('handled')).toBe('Cancelled');
    expect(sandbox.advance('partner', 'handled')).toBe('Cancelled');
  });

  it('is refused when its id was added before, or its script runs backwards', () => {
    sandbox.addOrder(slowly('twice'));
    expect(() => sandbox.addOrder(slowly('twice'))).toThrow(/orderId/);
    const [first, second] = slowly('x').script;
    if (!first || !second) throw new Error('no script');
    const backwards = { interface: 'partner' as const, orderId: 'x', script: [first, second, first] };
    expect(() => sandbox.addOrder(backwards)).toThrow(/must not decrease/);
    expect(() => sandbox.addOrder({ ...backwards, script: [second] })).toThrow(/afterMs 0/);
  });

  it('must exist before its status can be set', () => {
    expect(() => sandbox.setStatus('business', 'nowhere', 'Pending')).toThrow(/orderId/);
  });
});

describe('the sample orders', () => {
  it('can all be added and end in a terminal status', () => {
    for (const [name, sample] of Object.entries(sampleOrders)) {
      sandbox.addOrder(toSandboxOrder(sample, name, speed));
      expect(['Completed', 'Cancelled', 'Rejected']).toContain(sample.script.at(-1)?.status);
    }
  });

  it('cover every kind of course, with one word that is no known status', () => {
    const words = Object.values(sampleOrders).flatMap(({ script }) => script.map(({ status }) => status as string));
    for (const word of ['Reserved', 'Waiting', 'ActiveOrder', 'CareReq', 'Cancelled', 'Rejected']) {
      expect(words).toContain(word);
    }
    expect(words.filter((word) => !rideStatuses.some((status) => status === word))).toEqual(['DriverSwapped']);
  });

  it('have their scheduled time as near as the speed brings it', async () => {
    const now = new Date('2030-01-01T00:00:00Z');
    expect(toSandboxOrder(sampleOrders.scheduled, 's', 60, now).scheduledAt).toBe('2030-01-01T00:00:45.000Z');
    expect(toSandboxOrder(sampleOrders.onDemand, 's', 60, now)).not.toHaveProperty('scheduledAt');
  });

  it('of a supplier without tracking show a supplier but no driver', async () => {
    sandbox.addOrder(toSandboxOrder(sampleOrders.untracked, 'no-tracking', speed));
    expect(sandbox.advance('business', 'no-tracking')).toBe('ActiveOrder');
    const { json } = await readBusinessOrder(sandbox, 'no-tracking', await newToken(sandbox, 'business'));
    expect(json).toMatchObject({ status: 'ActiveOrder', supplier: { name: expect.any(String) } });
    expect(json).not.toHaveProperty('supplier.driver');
  });
});
