import type { OrderTrail } from '../src/domain/order/trail.js';

/** What an order went through, and how many of its deliveries were acknowledged. */
export interface LedOrder {
  orderId: string;
  statuses: readonly string[];
  acknowledged: number;
}

/** The deliveries that reached an order, each counted once. */
export const arrived = ({ deliveries }: OrderTrail): number => deliveries.received - deliveries.duplicate;

/** What is wrong with the trail of an order that has ended; undefined when it ended rightly and nothing is missing. */
export function faultOf({ statuses, acknowledged }: LedOrder, trail: OrderTrail): string | undefined {
  const read = trail.timeline.filter(({ source }) => source === 'read').map(({ status }) => status);
  // A status may come and go while no worker can read; what was read is in its order, once, and the last one is the end.
  const expected = statuses.filter((status) => read.includes(status));
  if (read.join() !== expected.join()) return `went through ${read.join(' ')}`;
  if (trail.outcome !== 'completed' || trail.status !== statuses.at(-1)) return `ended ${trail.outcome}`;
  const count = arrived(trail);
  return count === acknowledged ? undefined : `${acknowledged} deliveries were acknowledged, ${count} arrived`;
}
