import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { RideInterface } from '../../../src/domain/account.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { type FollowHandle, isQuiet, readStatuses, shows, trailOf, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

// Announced orders are polled often, so that a poll meets whatever happens beside it.
const stack = useOrderStack({ env: { FARETRAIL_POLL_PUSHED_MS: '400' } });

/** Follows an order that goes on to its next status once the one before was seen. */
async function followThrough(at: RideInterface, [first = '', ...others]: string[], more = {}): Promise<OrderTrail> {
  const orderId = stack.newOrder(at, [[first, 0]]);
  const handle = await stack.follow(at, orderId, more);
  let rawStatus = first;
  for (const next of others) {
    await shows(handle, { rawStatus });
    stack.sandbox.setStatus(at, orderId, next);
    rawStatus = next;
  }
  const trail = await handle.result();
  expect(trail).toMatchObject({ account: at, orderId, rawStatus });
  return trail;
}

async function announced(statuses: string[]): Promise<{ orderId: string; handle: FollowHandle }> {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId);
  await shows(handle, { status: 'Routing' });
  for (const status of statuses) {
    stack.sandbox.setStatus('business', orderId, status);
    await deliver(handle, newDelivery());
    // Its read comes after the one for the delivery: none is under way then.
    expect(await handle.executeUpdate('refreshOrder')).toMatchObject({ status, pushed: true });
  }
  return { orderId, handle };
}

describe.concurrent('an order that is polled', () => {
  it.each(['partner', 'business'] as const)('of %s is followed to its end with its timeline', async (at) => {
    const statuses = ['Pending', 'Routing', 'Confirmed', 'Completed'];
    const trail = await followThrough(at, statuses, { reference: 'shop-7' });
    expect(trail).toMatchObject({ reference: 'shop-7', status: 'Completed', terminal: true });
    expect(trail).toMatchObject({ outcome: 'completed', attention: null, pushed: false });
    expect(readStatuses(trail)).toEqual(statuses);
  });
});

describe.concurrent('the poll of an order whose changes were announced', () => {
  it('adds no event while the order stays as the run shows it', async () => {
    const { orderId, handle } = await announced(['Confirmed', 'Driving']);
    await isQuiet(stack, { handle, orderId }, 1);
  });

  it('finds a change that was not announced, also back to the status at which it began, and the order no longer counts as announced', async () => {
    const { orderId, handle } = await announced(['Confirmed', 'Driving']);
    stack.sandbox.setStatus('business', orderId, 'Confirmed');
    await shows(handle, { status: 'Confirmed', pushed: false });
    expect(readStatuses(await trailOf(handle))).toEqual(['Routing', 'Confirmed', 'Driving', 'Confirmed']);
  });

  it.each([
    ['announced', ['Confirmed'], 'Driving'],
    ['polled', [], 'Driving'],
    ['polled and back where it was', [], 'Routing'],
  ] as const)(
    'does not take back what a read after a hint has found meanwhile: of an order that is %s',
    async (_, before, present) => {
      const { orderId, handle } = await announced([...before]);
      const reads = () => stack.sandbox.ledger({ orderId }).length;
      const readsBefore = reads();
      stack.sandbox.setFault({ kind: 'slow', delayMs: 1_500, orderId, times: 1 });
      stack.sandbox.setStatus('business', orderId, 'Waiting');
      // The poll has got its answer, which is on its way for a second and a half.
      await vi.waitFor(() => expect(reads()).toBeGreaterThan(readsBefore), patient);
      stack.sandbox.setStatus('business', orderId, present);
      await handle.executeUpdate('refreshOrder');
      await shows(handle, { status: present });
      await sleep(2_000);
      const { timeline, status } = await trailOf(handle);
      const course = timeline.map((one) => one.status).filter((one) => one !== 'Waiting');
      expect(course).toEqual([...new Set(['Routing', ...before, present])]);
      expect(status).toBe(present);
      if (before.length === 0) expect(timeline.filter((one) => one.status === 'Waiting')).toEqual([]);
    },
  );

  it('is not taken back by a read after a hint that is older', async () => {
    const { orderId, handle } = await announced(['Confirmed']);
    const reads = () => stack.sandbox.ledger({ orderId }).length;
    const oneMore = async (before: number): Promise<void> =>
      await vi.waitFor(() => expect(reads()).toBeGreaterThan(before), patient);
    await oneMore(reads()); // a poll, so that the read comes before the next one
    const before = reads();
    stack.sandbox.setFault({ kind: 'slow', delayMs: 3_000, orderId, times: 1 });
    stack.sandbox.setStatus('business', orderId, 'Waiting');
    await deliver(handle, newDelivery());
    await oneMore(before);
    stack.sandbox.setStatus('business', orderId, 'Driving');
    await shows(handle, { status: 'Driving' });
    await sleep(4_000);
    const { timeline, status } = await trailOf(handle);
    expect(status).toBe('Driving');
    expect(timeline.map((one) => one.status)).toEqual(['Routing', 'Confirmed', 'Driving']);
  });
});
