import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { isLong } from '../support/long.js';
import { type FollowHandle, type OrderStack, startOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { isSubsequence } from '../support/subsequence.js';

const pushedMs = 400;

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: { FARETRAIL_POLL_PUSHED_MS: String(pushedMs) } });
});
afterAll(() => stack.close());

const trailOf = (handle: FollowHandle): Promise<OrderTrail> => handle.query('orderTrail');
const shows = (handle: FollowHandle, about: Partial<OrderTrail>) =>
  vi.waitFor(async () => expect(await trailOf(handle)).toMatchObject(about), patient);
const readStatuses = ({ timeline }: OrderTrail): string[] =>
  timeline.flatMap(({ source, status }) => (source === 'read' ? [status] : []));

async function followed(): Promise<{ orderId: string; handle: FollowHandle }> {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId);
  await shows(handle, { status: 'Routing' });
  return { orderId, handle };
}

const deliver = (handle: FollowHandle): Promise<void> =>
  handle.signal('deliveryReceived', {
    deliveries: [{ deliveryId: randomUUID(), eventType: 'status_changed', receivedAt: new Date().toISOString() }],
  });

async function announced(statuses: string[]): Promise<{ orderId: string; handle: FollowHandle }> {
  const { orderId, handle } = await followed();
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

type Step = { do: 'change' | 'announce'; to: string } | { do: 'wait'; ms: number };
const changes = fc.record({
  do: fc.constantFrom('change' as const, 'announce' as const),
  to: fc.constantFrom('Routing', 'Confirmed', 'Driving'),
});
const waits = fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2 * pushedMs }) });
const courses = fc.array(fc.array(fc.oneof(changes, waits), { maxLength: 12 }), { minLength: 4, maxLength: 4 });

async function goThrough(steps: readonly Step[]): Promise<void> {
  const { orderId, handle } = await followed();
  const course = ['Routing'];
  for (const step of steps) {
    if (step.do === 'wait') {
      await sleep(step.ms);
      continue;
    }
    stack.sandbox.setStatus('business', orderId, step.to);
    if (step.to !== course.at(-1)) course.push(step.to);
    if (step.do === 'announce') await deliver(handle);
  }
  await shows(handle, { status: course.at(-1) ?? '' });
  const read = readStatuses(await trailOf(handle));
  expect(isSubsequence(read, course), `${read} of ${course}`).toBe(true);
  await handle.terminate();
}

it('shows every course in its order, announced or not, and its end', {
  timeout: isLong ? 1_800_000 : 120_000,
}, async () => {
  stack.sandbox.setFault({ kind: 'slow', delayMs: 100, operation: 'orderDetails' });
  const property = fc.asyncProperty(courses, async (all) => {
    await Promise.all(all.map(goThrough));
  });
  await fc.assert(property, { numRuns: isLong ? 100 : 4, endOnFailure: true });
});
