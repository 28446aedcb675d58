import type { EndParkReason } from './order-end.js';
import type { ParkReason } from './parked-delivery.js';

/**
 * What became of deliveries that were taken. `signalled`: to the run that follows the order. `started`: such a run, anew too. `late`:
 * the order has ended at the service. `ignored`: nobody follows the order, and its account ignores such orders. `reported`: to
 * the report of the order. `parked`: they wait for a person.
 */
export type ForwardOutcome = 'signalled' | 'started' | 'late' | 'ignored' | 'reported' | 'parked';

/** What became of deliveries about an order, or why they must be parked. */
export type OrderDeliveryOutcome = Exclude<ForwardOutcome, 'reported' | 'parked'> | EndParkReason;

/** Must deliveries with this outcome be parked, since they have reached nobody? */
export const isEndParkReason = (outcome: OrderDeliveryOutcome | ParkReason): outcome is EndParkReason =>
  outcome === 'followingStopped' || outcome === 'endUnreadable';
