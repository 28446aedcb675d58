import type { ParkReason } from './parked-delivery.js';
import type { Outcome } from './trail.js';

/**
 * How the last run of an order ended. `brokenOff`: it failed, or somebody cancelled or terminated it, so it left no trail.
 * `unreadable`: it left a result that cannot be read here, encrypted with a key that is not held, say.
 */
export type OrderEnd = Outcome | 'brokenOff' | 'unreadable';

/** Does a caller who wants the order followed start it anew? `again`: the caller says that the end was a mistake. */
export function isFollowedAgain(end: OrderEnd, again: boolean): boolean {
  switch (end) {
    case 'completed':
    case 'cancelled':
    case 'rejected':
      return false; // an end of the order stays an end (I5)
    case 'stopped':
    case 'expired':
    case 'unreadable':
      return again;
    case 'brokenOff':
      return true;
  }
}

/** Why deliveries for an order wait for a person instead of starting it anew. */
export type EndParkReason = Extract<ParkReason, 'followingStopped' | 'endUnreadable'>;

/** What becomes of deliveries for an order whose last run has ended: they start it anew, come too late, or are parked. */
export function afterEnd(end: OrderEnd): 'again' | 'late' | EndParkReason {
  switch (end) {
    case 'completed':
    case 'cancelled':
    case 'rejected':
      return 'late';
    case 'brokenOff':
    case 'expired':
      return 'again'; // somebody wanted it followed, and the delivery proves that the order lives
    case 'stopped':
      return 'followingStopped'; // by a person, so a person decides
    case 'unreadable':
      return 'endUnreadable';
  }
}
