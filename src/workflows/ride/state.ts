import { type ApplicationFailure, setCurrentDetails } from '@temporalio/workflow';
import type { Attention } from '../../domain/attention.js';
import { isUrlReceiver } from '../../domain/notify/receivers.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import type { CompanyReport } from '../../domain/report.js';
import type { RequestRideInput, RideResolution } from '../../domain/ride/input.js';
import {
  describeRide,
  isRideNews,
  type RideNotice,
  type RideStanding,
  rideCancelled,
  toRideEvent,
  toRideNotice,
} from '../../domain/ride/ride.js';
import { type CarriedNotifier, createNotifier, type Notifier } from '../notify/notifier.js';
import { defaultMaxEvents } from '../run-kit.js';
import { writeAttention } from '../search-attributes.js';

const minuteMs = 60_000;

/** When a run continues as new, if the server does not hint at it before, and how long it waits for a receipt. */
export interface RequestRideLimits {
  maxEvents: number;
  /** For the first receipt. */
  firstReceiptMs: number;
  /** From one look to the next, once there is a receipt. */
  receiptEveryMs: number;
  /** A receipt that stayed the same for so long counts as settled. */
  receiptUnchangedMs: number;
  /** In all. Amounts may change days later (published); `companyReport` shows that. */
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

/** ISO instants: the start of the search for the receipt, and the last change of the receipt. */
interface ReceiptTimes {
  since: string;
  unchangedSince: string | null;
}

/** One ride while a run works on it. */
export interface Ride {
  /** Without the body once the order is known. */
  input: RequestRideInput;
  readonly limits: RequestRideLimits;
  readonly notifier: Notifier<RideTold, RideNotice>;
  standing: RideStanding;
  /** The final trail of the order. */
  trail: OrderTrail | null;
  /** The receipt; null before the first look. */
  report: CompanyReport | null;
  receiptTimes: ReceiptTimes | null;
  /** The worker may have sent the create, so only the service can cancel. */
  isSent: boolean;
  /** The attempts of the create in the whole chain of runs. */
  readonly attempts: { made: number };
  isWithdrawn: boolean;
  /** The run of the order has announced its end. */
  isEndTold: boolean;
  /** How often something suggested that the order's run has ended without a signal. */
  checks: number;
  /** A person's decision for the main body, and the id of the last update that made one. */
  resolution: RideResolution | null;
  resolvedBy: string | null;
  /** The run is checking or carrying out a person's decision. */
  isResolving: boolean;
  /** Ends after all changes that callers asked for. */
  changes: Promise<unknown>;
  failure: ApplicationFailure | null;
  /** The run ends because it was cancelled. */
  isCancelled: boolean;
}

type RideTold = Pick<Ride, 'standing' | 'failure' | 'isCancelled'>;

/** What the next run needs when this one continues as new. */
export type CarriedRide = Pick<Ride, 'standing' | 'trail' | 'report' | 'receiptTimes' | 'attempts'> & {
  notifier: CarriedNotifier<RideNotice>;
};

export const carryRide = ({ standing, trail, report, receiptTimes, attempts, notifier }: Ride): CarriedRide => ({
  ...{ standing, trail, report, receiptTimes, attempts },
  notifier: notifier.carry(),
});

const toNotice = ({ standing, failure, isCancelled }: RideTold) => {
  if (failure === null) return toRideNotice(standing, isCancelled ? rideCancelled : null);
  return toRideNotice(standing, { type: String(failure.type), message: failure.message });
};

/** Tells URLs of the ride itself, and the store. Workflows expect notices of the order, which its run sends to all receivers. */
export const createRideNotifier = (
  { account, notify = [] }: RequestRideInput,
  carried: CarriedRide | undefined,
): Notifier<RideTold, RideNotice> =>
  createNotifier({
    account,
    receivers: () => notify.filter(isUrlReceiver),
    carried: carried?.notifier,
    toNotice,
    toEvent: toRideEvent,
    isNews: isRideNews,
    isLast: ({ stage }) => stage === 'ended',
    maxWaiting: 20, // more than a ride has, unless its attention comes and goes
  });

/** Changes the standing of the ride, for callers, in the Temporal UI and, where it is news, for URLs. */
export function setStanding(ride: Ride, changed: Partial<RideStanding>): void {
  ride.standing = { ...ride.standing, ...changed };
  setCurrentDetails(describeRide(ride.standing));
  writeAttention(ride.standing.attention);
  ride.notifier.tell(ride);
}

/** Shows that a call of the ride takes long, unless the ride has another attention. */
export function showsWaiting(ride: Ride): (waiting: Attention | null) => void {
  let mine: Attention | null = null;
  return (waiting) => {
    if (ride.standing.attention !== mine) return;
    mine = waiting;
    setStanding(ride, { attention: waiting });
  };
}
