import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { deliver, newDelivery } from '../delivery/deliveries.js';
import { type FollowHandle, type OrderStack, type OrderStackOptions, shows, trailOf } from './stack.js';

const pushedMs = 400;

/** Polls announced orders often, so that a poll meets whatever happens beside it. */
export const announcedStack: OrderStackOptions = { env: { FARETRAIL_POLL_PUSHED_MS: String(pushedMs) } };

export const readStatuses = ({ timeline }: OrderTrail): string[] =>
  timeline.flatMap(({ source, status }) => (source === 'read' ? [status] : []));

/** Do the words of `part` stand in `whole` in this order, others between them or not? */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const word of whole) if (word === part[at]) at += 1;
  return at === part.length;
}

export async function followed(stack: OrderStack): Promise<{ orderId: string; handle: FollowHandle }> {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId);
  await shows(handle, { status: 'Routing' });
  return { orderId, handle };
}

/** What happens to an order: it changes with or without a delivery, or time passes. */
type Step = { do: 'change' | 'announce'; to: string } | { do: 'wait'; ms: number };

const changes = fc.record({
  do: fc.constantFrom('change' as const, 'announce' as const),
  to: fc.constantFrom('Routing', 'Confirmed', 'Driving'),
});
const waits = fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2 * pushedMs }) });

/** Four courses, which four orders take side by side. */
export const announcedCourses = fc.array(fc.array(fc.oneof(changes, waits), { maxLength: 12 }), {
  minLength: 4,
  maxLength: 4,
});

/** Takes a new order through the course and checks that its run shows it. The run goes on. */
export async function goThroughAnnounced(stack: OrderStack, steps: readonly Step[]): Promise<FollowHandle> {
  const { orderId, handle } = await followed(stack);
  const course = ['Routing'];
  for (const step of steps) {
    if (step.do === 'wait') {
      await sleep(step.ms);
      continue;
    }
    stack.sandbox.setStatus('business', orderId, step.to);
    if (step.to !== course.at(-1)) course.push(step.to);
    if (step.do === 'announce') await deliver(handle, newDelivery());
  }
  await shows(handle, { status: course.at(-1) ?? '' });
  const read = readStatuses(await trailOf(handle));
  expect(isSubsequence(read, course), `${read} of ${course}`).toBe(true);
  return handle;
}
