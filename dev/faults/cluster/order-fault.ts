import type { OrderTrail } from '../../../src/client/index.js';

/** The statuses of an order, and the number of its acknowledged deliveries. */
export interface LedOrder {
  orderId: string;
  statuses: readonly string[];
  acknowledged: number;
}

/** The deliveries that reached an order, each counted once. */
export const arrived = ({ deliveries }: OrderTrail): number => deliveries.received - deliveries.duplicate;

/** The fault in the trail of an ended order; undefined if it has none. */
export function faultOf({ statuses, acknowledged }: LedOrder, trail: OrderTrail): string | undefined {
  const read = trail.timeline.filter(({ source }) => source === 'read').map(({ status }) => status);
  // Workers may miss a status while they cannot read. The others come in their order, each once, and the last one is the end.
  const expected = statuses.filter((status) => read.includes(status));
  if (read.join() !== expected.join()) return `went through ${read.join(' ')}`;
  if (trail.outcome !== 'completed' || trail.status !== statuses.at(-1)) return `ended ${trail.outcome}`;
  const count = arrived(trail);
  return count === acknowledged ? undefined : `${acknowledged} deliveries were acknowledged, ${count} arrived`;
}
