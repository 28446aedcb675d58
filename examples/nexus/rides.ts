import type { OrderTrail } from 'faretrail';
import * as nexus from 'nexus-rpc';

/** One order of one account. */
export interface OrderKey {
  account: string;
  orderId: string;
}

/** What other namespaces may ask for: plain data, fit for workflow code. */
export const rides = nexus.service('Rides', {
  /** Follows an order. Answers with its trail once the order has ended. */
  followOrder: nexus.operation<OrderKey, OrderTrail>(),
  /** Answers at once with the trail so far. */
  orderTrail: nexus.operation<OrderKey, OrderTrail>(),
});
