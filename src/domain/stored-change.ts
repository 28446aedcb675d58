import type { OrderChange } from './order/trail.js';

/** A change of an order on its way into the store. Plain JSON. */
export interface StoredChange {
  /** Made of the first run and the number of the change, so that a repeat is no second row. */
  id: string;
  /** When the run recorded the change, ISO 8601 UTC. */
  at: string;
  /** `order.changed`, `order.ended`, `attention.raised` or `attention.cleared`. */
  type: string;
  change: OrderChange;
}
