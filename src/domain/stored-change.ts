import type { OrderChange } from './order/trail.js';
import type { ReceiptAmounts } from './report.js';
import type { RideNotice } from './ride/ride.js';

/** A receipt of a ride on its way into the store. */
export interface StoredReceipt extends ReceiptAmounts, Pick<RideNotice, 'account' | 'orderId'> {}

/** A change of an order or a ride on its way into the store. Plain JSON. */
export interface StoredChange {
  /** Id of the first of the runs that continued as new. */
  run: string;
  /** Number of the change in these runs, so that a repeat is no second row. */
  notice: number;
  /** When the run recorded the change, ISO 8601 UTC by the clock of Temporal. Later where a lost task has to be done again. */
  at: string;
  /** `order.changed`, `order.ended`, `attention.raised` or `attention.cleared`; `ride.changed`; `ride.receipt`. */
  type: string;
  change: OrderChange | RideNotice | StoredReceipt;
}
