import { type ApplicationFailure, setCurrentDetails } from '@temporalio/workflow';
import type { Attention } from '../../domain/attention.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import type { CompanyReport } from '../../domain/report.js';
import type { RequestRideInput, RideResolution } from '../../domain/ride/input.js';
import { describeRide, type RideStanding } from '../../domain/ride/ride.js';
import { defaultMaxEvents } from '../run-kit.js';
import { writeAttention } from '../search-attributes.js';

const minuteMs = 60_000;

/** When a run continues as new, beside the server's own hint, and how long it waits for a receipt. */
export interface RequestRideLimits {
  maxEvents: number;
  /** For the first receipt. */
  firstReceiptMs: number;
  /** From one look to the next, once there is a receipt. */
  receiptEveryMs: number;
  /** A receipt that stayed the same for so long counts as settled. */
  receiptUnchangedMs: number;
  /** In all: amounts may still change days later (assumed); `companyReport` tells of that. */
  receiptAtMostMs: number;
  /** How long a cancel waits until the order reads cancelled. */
  cancelShownMs: number;
}

export const defaultLimits: RequestRideLimits = {
  maxEvents: defaultMaxEvents,
  firstReceiptMs: 60 * minuteMs,
  receiptEveryMs: 5 * minuteMs,
  receiptUnchangedMs: 10 * minuteMs,
  receiptAtMostMs: 24 * 60 * minuteMs,
  cancelShownMs: 10_000,
};

/** Since when the receipt is looked for, and since when it is as it is. ISO instants. */
interface ReceiptTimes {
  since: string;
  unchangedSince: string | null;
}

/** One ride while a run works on it. */
export interface Ride {
  readonly input: RequestRideInput;
  readonly limits: RequestRideLimits;
  standing: RideStanding;
  /** Of the order, once it has ended. */
  trail: OrderTrail | null;
  /** What is known of the receipt; null before the first look. */
  report: CompanyReport | null;
  receiptTimes: ReceiptTimes | null;
  /** The create has been sent, so cancelling is a matter of the service. */
  isSent: boolean;
  isWithdrawn: boolean;
  /** The run of the order says that it ends. */
  isEndTold: boolean;
  /** What a person decided; the main body takes it. */
  resolution: RideResolution | null;
  /** A person's decision is being checked or carried out. */
  isResolving: boolean;
  /** The changes that callers asked for, one after the other. */
  changes: Promise<unknown>;
  failure: ApplicationFailure | null;
}

/** What outlives a run that continues as new. */
export type CarriedRide = Pick<Ride, 'standing' | 'trail' | 'report' | 'receiptTimes'>;

export const carryRide = ({ standing, trail, report, receiptTimes }: Ride): CarriedRide => ({
  standing,
  trail,
  report,
  receiptTimes,
});

/** The ride from now on, for callers and in the Temporal UI. */
export function setStanding(ride: Ride, changed: Partial<RideStanding>): void {
  ride.standing = { ...ride.standing, ...changed };
  setCurrentDetails(describeRide(ride.standing));
  writeAttention(ride.standing.attention);
}

/** Shows that a call of the ride waits, unless something else needs a person. */
export function showsWaiting(ride: Ride): (waiting: Attention | null) => void {
  let mine: Attention | null = null;
  return (waiting) => {
    if (ride.standing.attention !== mine) return;
    mine = waiting;
    setStanding(ride, { attention: waiting });
  };
}
