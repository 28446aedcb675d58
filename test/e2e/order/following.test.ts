import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RideInterface } from '../../../src/domain/account.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { type FollowHandle, type OrderStack, startOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack();
});
afterAll(() => stack.close());

const shows = (handle: FollowHandle, rawStatus: string) =>
  vi.waitFor(async () => expect(await handle.query('orderTrail')).toMatchObject({ rawStatus }), patient);

/** Follows an order that goes on to its next status once the one before was seen. */
async function followThrough(at: RideInterface, statuses: string[], reference?: string): Promise<OrderTrail> {
  const [first = '', ...others] = statuses;
  const orderId = stack.newOrder(at, [[first, 0]]);
  const handle = await stack.follow(at, orderId, reference === undefined ? {} : { reference });
  let last = first;
  for (const next of others) {
    await shows(handle, last);
    stack.sandbox.setStatus(at, orderId, next);
    last = next;
  }
  const trail = await handle.result();
  expect(trail).toMatchObject({ account: at, orderId });
  return trail;
}

describe.concurrent('an order at either interface', () => {
  it.each(['partner', 'business'] as const)('of %s is followed to its end with its timeline', async (at) => {
    const statuses = ['Pending', 'Routing', 'Confirmed', 'Completed'];
    const trail = await followThrough(at, statuses, 'shop-7');
    expect(trail).toMatchObject({ reference: 'shop-7', status: 'Completed', terminal: true });
    expect(trail).toMatchObject({ outcome: 'completed', attention: null, pushed: false });
    expect(trail.timeline.map(({ status }) => status)).toEqual(statuses);
  });

  it('keeps a status that nobody has documented, and goes on', async () => {
    const trail = await followThrough('partner', ['Driver Swapped!', 'Driving', 'Canceled']);
    expect(trail.timeline.map(({ status }) => status)).toEqual(['Driver Swapped!', 'Driving', 'Cancelled']);
    expect(trail).toMatchObject({ outcome: 'cancelled', rawStatus: 'Canceled' });
  });

  it('costs no event while nothing changes', async () => {
    const orderId = stack.newOrder('partner', [['Driving', 0]]);
    const handle = await stack.follow('partner', orderId);
    await shows(handle, 'Driving');
    const before = await handle.describe();
    const readsBefore = stack.sandbox.ledger({ orderId }).length;
    const reads = () => stack.sandbox.ledger({ orderId }).length;
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(readsBefore + 5), patient);
    expect((await handle.describe()).historyLength).toBe(before.historyLength);
    await handle.terminate();
  });
});
