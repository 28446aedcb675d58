import type { OrderTrail } from './trail.js';

/** What a `notify` signal carries: each change of the status, and the end. */
export type OrderChange = Pick<
  OrderTrail,
  'account' | 'orderId' | 'reference' | 'status' | 'rawStatus' | 'since' | 'terminal' | 'outcome'
>;

/** The part of a trail that others are told of. */
export function toOrderChange(trail: OrderTrail): OrderChange {
  const { account, orderId, status, rawStatus, since, terminal, outcome } = trail;
  const reference = trail.reference === undefined ? {} : { reference: trail.reference };
  return { account, orderId, ...reference, status, rawStatus, since, terminal, outcome };
}

/** What a URL is told. */
export type OrderEvent = OrderChange & { type: 'order.changed' | 'order.ended' };

/** The same change as the body of a request. */
export const toOrderEvent = (change: OrderChange): OrderEvent => ({
  type: change.outcome === null ? 'order.changed' : 'order.ended',
  ...change,
});
