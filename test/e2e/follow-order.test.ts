import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OrderStack, startOrderStack } from '../support/order-stack.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack();
});
afterAll(() => stack.close());

describe('an order at either interface', () => {
  it.each(['partner', 'business'] as const)('of %s is followed to its end with its timeline', async (at) => {
    const orderId = stack.newOrder(at, [
      ['Pending', 0],
      ['Routing', 3_000],
      ['Confirmed', 6_000],
      ['Completed', 9_000],
    ]);
    const trail = await (await stack.follow(at, orderId, { reference: 'shop-7' })).result();
    expect(trail).toMatchObject({ account: at, orderId, reference: 'shop-7', status: 'Completed', terminal: true });
    expect(trail).toMatchObject({ outcome: 'completed', attention: null, pushed: false });
    expect(trail.timeline.map(({ status }) => status)).toEqual(['Pending', 'Routing', 'Confirmed', 'Completed']);
  });

  it('keeps a status that nobody has documented, and goes on', async () => {
    const orderId = stack.newOrder('partner', [
      ['Driver Swapped!', 0],
      ['Driving', 3_000],
      ['Canceled', 6_000],
    ]);
    const trail = await (await stack.follow('partner', orderId)).result();
    expect(trail.timeline.map(({ status }) => status)).toEqual(['Driver Swapped!', 'Driving', 'Cancelled']);
    expect(trail).toMatchObject({ outcome: 'cancelled', rawStatus: 'Canceled' });
  });

  it('costs no event while nothing changes', async () => {
    const orderId = stack.newOrder('partner', [['Driving', 0]]);
    const handle = await stack.follow('partner', orderId);
    await expect
      .poll(async () => (await handle.query('orderTrail')) as { status: string }, { timeout: 20_000 })
      .toMatchObject({ status: 'Driving' });
    const before = await handle.describe();
    const readsBefore = stack.sandbox.ledger({ orderId }).length;
    await expect
      .poll(() => stack.sandbox.ledger({ orderId }).length, { timeout: 20_000 })
      .toBeGreaterThan(readsBefore + 5);
    expect((await handle.describe()).historyLength).toBe(before.historyLength);
    await handle.terminate();
  });
});
