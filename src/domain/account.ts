import type { AccountName } from './keys.js';
import type { OpenStatus } from './order/status.js';

/** The two interfaces of the service (given). */
export const rideInterfaces = ['partner', 'business'] as const;

/** `partner` or `business`. */
export type RideInterface = (typeof rideInterfaces)[number];

/** Does an account at this interface act for a company? Only such an account has a business id and can subscribe to events. */
export const actsForCompany: Record<RideInterface, boolean> = { partner: false, business: true };

/** The pace of reads of an open order. Milliseconds, 100 to 86,400,000. */
export interface Cadence {
  activeMs: number;
  reservedMs: number;
  pushedMs: number;
}

/** When the runs of an account's orders show attention about the ride. Null: never. */
export interface Watch {
  /** So long after a status began. */
  stuckAfterMs: Readonly<Record<OpenStatus, number | null>>;
  /** So long after the pick-up time. */
  latePickupAfterMs: number | null;
  /** While customer care has the order. */
  customerCare: boolean;
}

/** One named set of credentials at one interface, as read from the environment or the accounts file. */
export interface Account {
  name: AccountName;
  interface: RideInterface;
  /** Without a trailing slash; https, or http at a loopback address. */
  baseUrl: string;
  /** Where the token endpoint lives; the base URL at the partner interface. */
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** The company's UUID; business interface only. */
  businessId?: string;
  requestsPerSecond: number;
  poll: Cadence;
  watch: Watch;
  /** What happens to a delivery about an order that no run follows. */
  untracked: 'follow' | 'ignore';
}
