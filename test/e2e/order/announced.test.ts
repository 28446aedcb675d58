import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isLong } from '../../support/long.js';
import {
  announcedCourses,
  deliver,
  followed,
  goThroughAnnounced,
  readStatuses,
  shows,
  startAnnouncedStack,
  trailOf,
} from '../../support/order/announced-courses.js';
import type { FollowHandle, OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startAnnouncedStack();
});
afterAll(() => stack.close());

async function announced(statuses: string[]): Promise<{ orderId: string; handle: FollowHandle }> {
  const { orderId, handle } = await followed(stack);
  for (const status of statuses) {
    stack.sandbox.setStatus('business', orderId, status);
    await deliver(handle);
    // Its read comes after the one for the delivery: none is under way then.
    expect(await handle.executeUpdate('refreshOrder')).toMatchObject({ status, pushed: true });
  }
  return { orderId, handle };
}

function polledTwice(orderId: string): Promise<void> {
  const reads = () => stack.sandbox.ledger({ orderId }).length;
  const before = reads();
  return vi.waitFor(() => expect(reads()).toBeGreaterThan(before + 1), patient);
}

describe.concurrent('the poll of an order whose changes were announced', () => {
  it('adds no event while the order stays as the run shows it', async () => {
    const { orderId, handle } = await announced(['Confirmed', 'Driving']);
    await polledTwice(orderId);
    const { historyLength } = await handle.describe();
    await polledTwice(orderId);
    expect((await handle.describe()).historyLength).toBe(historyLength);
  });

  it('finds a change that is not, also back to the status at which it began, and the order no longer counts as announced', async () => {
    const { orderId, handle } = await announced(['Confirmed', 'Driving']);
    stack.sandbox.setStatus('business', orderId, 'Confirmed');
    await shows(handle, { status: 'Confirmed', pushed: false });
    expect(readStatuses(await trailOf(handle))).toEqual(['Routing', 'Confirmed', 'Driving', 'Confirmed']);
  });

  it('does not take back what a delivery has told meanwhile', async () => {
    const { orderId, handle } = await announced(['Confirmed']);
    const readsBefore = stack.sandbox.ledger({ orderId }).length;
    stack.sandbox.setStatus('business', orderId, 'Waiting');
    stack.sandbox.setFault({ kind: 'slow', delayMs: 2_000, orderId, times: 1 });
    // The poll has got its answer, which is on its way for two seconds.
    await vi.waitFor(() => expect(stack.sandbox.ledger({ orderId }).length).toBeGreaterThan(readsBefore), patient);
    stack.sandbox.setStatus('business', orderId, 'Driving');
    await deliver(handle);
    await shows(handle, { status: 'Driving' });
    await sleep(3_000);
    expect(readStatuses(await trailOf(handle))).toEqual(['Routing', 'Confirmed', 'Driving']);
  });
});

it('shows every course in its order, announced or not, and its end', {
  timeout: isLong ? 1_800_000 : 120_000,
}, async () => {
  stack.sandbox.setFault({ kind: 'slow', delayMs: 100, operation: 'orderDetails' });
  const property = fc.asyncProperty(announcedCourses, async (all) => {
    await Promise.all(all.map(async (steps) => (await goThroughAnnounced(stack, steps)).terminate()));
  });
  await fc.assert(property, { numRuns: isLong ? 100 : 4, endOnFailure: true });
});
