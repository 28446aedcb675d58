import {
  allHandlersFinished,
  condition,
  metricMeter,
  patched,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { Attention } from '../../domain/attention.js';
import type { DeliveryNotice } from '../../domain/delivery.js';
import type { FailureStreak } from '../../domain/failure-streak.js';
import { isSameId } from '../../domain/keys.js';
import type { Notify } from '../../domain/notify/receivers.js';
import { atStart, type FollowedOrder, parseRunLeft, type RunLeft } from '../../domain/order/earlier-run.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../../domain/order/input.js';
import { toKnownStatus } from '../../domain/order/status.js';
import {
  describeTrail,
  isChange,
  type OrderChange,
  type OrderTrail,
  scheduledAt,
  statusLagMs,
  storeNewsSince,
  toOrderChange,
  toOrderEvent,
} from '../../domain/order/trail.js';
import { followedSinceMemoField } from '../../domain/watch.js';
import { followOrderId, fromFollowOrderId } from '../../domain/workflow-ids.js';
import { type DeliveryInbox, hasTooManySignals, isReadWanted, openDeliveryInbox } from '../delivery-inbox.js';
import { type CarriedNotifier, createNotifier, type Notifier } from '../notify/notifier.js';
import { continueRun, defaultMaxEvents, isTimeToContinue, refuseBadInput, requireWorkflowId } from '../run-kit.js';
import {
  rideAccountKey,
  rideAttentionKey,
  ridePickupKey,
  rideSeenByKey,
  rideSinceKey,
  rideStatusKey,
  toAttribute,
  writeAccount,
  writeAttributes,
} from '../search-attributes.js';
import { settle } from '../settling.js';

/** What deliveries and callers ask of the run. */
export interface OrderInbox extends DeliveryInbox {
  /** Number of the last read that a caller of `refreshOrder` asked for; 0: none did. */
  refreshing: number;
  /** The answer to all callers up to this number: their read failed. */
  failedRead: { upTo: number; attention: Attention } | null;
  /** Deliveries that no reading has answered. */
  claims: DeliveryNotice[];
  stopReason: string | null;
  /** Those of the input and those added since; none is ever removed. */
  receivers: Notify[];
  /** The run ends or continues as new, so it answers callers that wait for a read. */
  closing: boolean;
  /** The trail has its outcome, so the run answers callers that wait for the end. */
  ended: boolean;
}

/** A run continues as new at the server's hint, or after so many events or signals. */
export interface FollowOrderLimits {
  maxEvents: number;
  maxSignals: number;
}

/** Well below the 10,000 signals after which the server refuses. */
const defaultLimits: FollowOrderLimits = { maxEvents: defaultMaxEvents, maxSignals: 5_000 };

/** What a run is started with beside its input. Plain JSON. */
export interface FollowOrderProgress {
  /** Tests set it. */
  limits?: FollowOrderLimits;
  /** What the former run of this order left: one that continued as new, or one that ended before the order did. */
  left?: RunLeft;
  /** More of a run that continued as new. */
  carried?: {
    startedAt: string;
    notBefore: string | null;
    readWanted: boolean;
    deliveryReads: number[];
    watched: { scheduledAt: string | null; isTaken: boolean } | null;
    notifier: CarriedNotifier<OrderChange>;
  };
}

/** One order while a run follows it. */
export interface Follow {
  /** Includes later requests of callers. */
  input: FollowOrderInput;
  readonly limits: FollowOrderLimits;
  readonly startedAt: string;
  readonly inbox: OrderInbox;
  readonly notifier: Notifier<OrderTrail, OrderChange>;
  trail: OrderTrail;
  /** No look before this instant, because of the service or our back-off. */
  notBefore: string | null;
  /** The next change of the status happened after this ISO instant; null: that is not known. */
  unchangedAt: string | null;
  /** The trouble that the watch has told of, for the next read. */
  streak: FailureStreak | null;
  /** Epoch milliseconds of the last reads that no person asked for, newest last. */
  deliveryReads: number[];
  /** What the watch of the account was told, and whether a worker has taken it; null before the first reading. */
  watched: { scheduledAt: string | null; isTaken: boolean } | null;
  /** How many findings of the watch this run has recorded. */
  findings: number;
  /** When the run itself last read the order, in epoch milliseconds; null: this run has not yet. */
  readAt: number | null;
  /** The run has a pending read. False: it began with release 0.2.0. */
  readonly pends: boolean;
  isExpired: boolean;
  /** Shows the trail in the UI; adds no event. */
  show(): void;
}

/** A run of release 0.2.0 goes on with the order id as its own id spells it. */
function asNamed(input: FollowOrderInput): FollowOrderInput {
  const { orderId = input.orderId } = fromFollowOrderId(workflowInfo().workflowId) ?? {};
  return isSameId(orderId, input.orderId) ? { ...input, orderId } : input;
}

/** Reads the input and opens the trail, or takes over that of the former run. Fails the run when the input is wrong. */
export function openFollow(rawInput: FollowOrderInput, { limits, left, carried }: FollowOrderProgress = {}): Follow {
  const given = refuseBadInput(() => asNamed(parseFollowOrderInput(rawInput)));
  // Any program can start a run; only a run of ours can have carried something.
  const former = left && !carried ? refuseBadInput(() => parseRunLeft(left)) : left;
  requireWorkflowId(followOrderId(given));
  const pends = patched('pending-reading');
  // As Temporal shows it, too, to whoever takes the watch over.
  const startedAt = carried?.startedAt ?? (pends ? workflowInfo().startTime : new Date()).toISOString();
  const order = atStart(given, startedAt, former);
  const { input, trail } = order;
  const inbox = openInbox(order, carried?.readWanted ?? true); // a start is a hint
  const show = (): void => setCurrentDetails(describeTrail(follow.trail, follow.notifier.undelivered()));
  const follow: Follow = {
    input,
    limits: limits ?? defaultLimits,
    startedAt,
    inbox,
    notifier: createNotifier({
      ...orderNotices,
      account: input.account,
      receivers: () => inbox.receivers,
      carried: carried?.notifier,
      onUndelivered: show,
    }),
    trail,
    notBefore: carried?.notBefore ?? null,
    unchangedAt: null,
    streak: null,
    deliveryReads: carried?.deliveryReads ?? [],
    watched: carried?.watched ?? null,
    findings: 0,
    readAt: null,
    pends,
    isExpired: false,
    show,
  };
  if (pends) writeAttributes([{ key: rideAccountKey, value: input.account }]);
  else if (!carried) writeAccount(input.account);
  return follow;
}

const openInbox = ({ claims, seenDeliveries, receivers }: FollowedOrder, readWanted: boolean): OrderInbox => ({
  ...openDeliveryInbox({ seenDeliveries, readWanted }),
  claims,
  receivers,
  refreshing: 0,
  failedRead: null,
  stopReason: null,
  closing: false,
  ended: false,
});

/** Notices of each change of the status and of the end. */
const orderNotices = {
  toNotice: toOrderChange,
  toEvent: toOrderEvent,
  isNews: isChange,
  storeNewsSince,
  isLast: ({ outcome }: OrderChange) => outcome !== null,
  maxWaiting: 100, // more changes than an order has
};

/** Has the order ended, or has its following stopped or expired? */
export const isOver = ({ trail, inbox, isExpired }: Follow): boolean =>
  trail.terminal || inbox.stopReason !== null || isExpired;

/** Does a caller of `refreshOrder` wait for its read? */
export const isPersonWaiting = ({ refreshing, served }: OrderInbox): boolean => refreshing > served;

/** This run makes a read for which a caller waits; the next run makes a read for a delivery. */
const isLong = ({ inbox, limits }: Follow): boolean => !isPersonWaiting(inbox) && isTimeToContinue(limits.maxEvents);

/** Must the run continue as new? A read under way is made by the next run. */
export const mustContinue = (follow: Follow): boolean =>
  !isOver(follow) && (isLong(follow) || hasTooManySignals(follow.inbox, follow.limits));

type FollowOrder = (input: FollowOrderInput, progress: FollowOrderProgress) => Promise<OrderTrail>;

/** Continues as new if the run is long, unless this run must answer a caller. */
export async function continueIfLong(follow: Follow): Promise<void> {
  if (!mustContinue(follow)) return;
  const { inbox, notifier } = follow;
  inbox.closing = hasTooManySignals(inbox, follow.limits);
  await condition(() => !mustContinue(follow) || (allHandlersFinished() && notifier.isQuiet()));
  await settle();
  inbox.closing = false;
  if (!mustContinue(follow) || !allHandlersFinished() || !notifier.isQuiet()) return;
  const { input, limits, startedAt, notBefore, deliveryReads, trail } = follow;
  const { claims, seenDeliveries, receivers } = inbox;
  const watched = follow.watched?.isTaken ? follow.watched : null;
  const readWanted = isReadWanted(inbox);
  await continueRun<FollowOrder>(
    [
      input,
      {
        limits,
        left: { trail, claims, seenDeliveries, receivers },
        carried: { startedAt, notBefore, readWanted, deliveryReads, watched, notifier: notifier.carry() },
      },
    ],
    { [followedSinceMemoField]: startedAt },
  );
}

/** Shows the trail in the Temporal UI and in the search attributes. */
export function showTrail(follow: Follow, seenBy: 'read' | 'delivery'): void {
  const { trail } = follow;
  follow.show();
  const isNewStatus = (workflowInfo().typedSearchAttributes.get(rideStatusKey) ?? null) !== trail.status;
  writeAttributes([
    { key: rideStatusKey, value: trail.status },
    ...(isNewStatus ? [{ key: rideSeenByKey, value: seenBy }] : []),
    { key: rideAttentionKey, value: trail.attention?.code ?? null },
    ...(follow.pends ? lookAttributes(follow) : []),
  ]);
}

/** What a process that takes the watch over has to know of the order, beside its status. */
const lookAttributes = ({ input, trail }: Follow) =>
  trail.status === null
    ? []
    : [
        { key: rideSinceKey, value: toAttribute(trail.since) },
        { key: ridePickupKey, value: toAttribute(scheduledAt(input, trail)) },
      ];

/** A caller has moved the pick-up, on which the pace of polls depends. */
export function showPickup(follow: Follow): void {
  writeAttributes(lookAttributes(follow));
}

// The meter counts nothing during replay. Labels are words from closed lists.

/** Counts a change of the status by the cause of the read, and records how late the run saw it. */
export function countChange(
  before: OrderTrail,
  { trail, unchangedAt }: Follow,
  claims: readonly DeliveryNotice[],
): void {
  if (trail.status === null || trail.status === before.status) return;
  const foundBy = before.status === null ? 'first' : claims.length > 0 ? 'delivery' : 'read';
  metricMeter
    .createCounter('faretrail_status_changes', undefined, 'Changes of the status of orders by how they were seen.')
    .add(1, { account: trail.account, status: toKnownStatus(trail.status) ?? 'other', seen_by: foundBy });
  const lagMs = statusLagMs(claims, unchangedAt, Date.now());
  if (foundBy === 'first' || lagMs === undefined) return;
  metricMeter
    .createHistogram('faretrail_status_lag', 'float', 'seconds', 'How late changes of the status were seen.')
    .record(lagMs / 1_000, { seen_by: foundBy });
}

/** Counts the end of a run; without an outcome the service does not know the order. */
export const countEnd = ({ account, outcome }: OrderTrail): void =>
  metricMeter
    .createCounter('faretrail_order_ends', undefined, 'Runs that followed an order, by how they ended.')
    .add(1, { account, outcome: outcome ?? 'notFound' });
