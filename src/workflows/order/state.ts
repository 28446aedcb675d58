import { metricMeter, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { NoticeLog } from '../../domain/notify/notice-log.js';
import { type FollowOrderInput, parseFollowOrderInput, toEarlierRunId } from '../../domain/order/input.js';
import { toKnownStatus } from '../../domain/order/status.js';
import {
  describeTrail,
  type FoundChange,
  isChange,
  type OrderChange,
  type OrderTrail,
  openTrail,
  statusLagMs,
  toOrderChange,
  toOrderEvent,
} from '../../domain/order/trail.js';
import { followOrderId } from '../../domain/workflow-ids.js';
import { createNotifier, type Notifier, type RunReceivers } from '../notify/notifier.js';
import { defaultMaxEvents, refuseBadInput, requireWorkflowId } from '../run-kit.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey, writeAccount, writeAttributes } from '../search-attributes.js';
import { type CarriedInbox, type OrderInbox, openInbox } from './inbox.js';
import type { Poll } from './looks.js';

/** When a run continues as new: beside the server's own hint, after so many events or signals. */
export interface FollowOrderLimits {
  maxEvents: number;
  maxSignals: number;
}

/** Well below the 10,000 signals after which the server refuses. */
const defaultLimits: FollowOrderLimits = { maxEvents: defaultMaxEvents, maxSignals: 5_000 };

/** What a run hands to the run that continues it, and tests set. Plain JSON. */
export interface FollowOrderProgress {
  limits?: FollowOrderLimits;
  /** Run id of an earlier run of this order that ended without an end of the order: its timeline goes on in this run. */
  continues?: string;
  carried?: {
    trail: OrderTrail;
    startedAt: string;
    notBefore: string | null;
    inbox: CarriedInbox;
    notices?: NoticeLog;
  };
}

/** One order while a run follows it. */
export interface Follow {
  /** With what callers asked for since. */
  input: FollowOrderInput;
  readonly limits: FollowOrderLimits;
  readonly startedAt: string;
  readonly inbox: OrderInbox;
  notifier: Notifier<OrderTrail>;
  trail: OrderTrail;
  /** The earlier run that this one is to go on from, until that has answered. */
  continues: string | null;
  /** No look before this instant: the service, or our back-off, said so. */
  notBefore: string | null;
  lastReadAt: string | null;
  recordedLength: number;
  poll: Poll | null;
  isExpired: boolean;
  /** Shows the trail in the UI; adds no event. */
  show(): void;
}

/** Reads the input and opens or takes over the trail. Fails the run when the input is wrong. */
export function openFollow(
  rawInput: FollowOrderInput,
  { limits, carried, continues }: FollowOrderProgress = {},
): Follow {
  const input = refuseBadInput(() => parseFollowOrderInput(rawInput));
  requireWorkflowId(followOrderId(input));
  const earlier = (continues ?? null) === null ? null : refuseBadInput(() => toEarlierRunId(continues));
  const inbox = openInbox(input.notify, carried?.inbox);
  const startedAt = carried?.startedAt ?? new Date().toISOString();
  if (!carried) writeAccount(input.account);
  const show = (): void => showDetails(follow.trail, notToldOf(follow));
  const follow: Follow = {
    input,
    limits: limits ?? defaultLimits,
    startedAt,
    inbox,
    notifier: createOrderNotifier({
      receivers: inbox.receivers,
      told: carried ? toOrderChange(carried.trail) : null,
      notices: carried?.notices,
      onUndelivered: show,
    }),
    trail: carried?.trail ?? openTrail(input, startedAt),
    continues: earlier,
    notBefore: carried?.notBefore ?? null,
    lastReadAt: null,
    recordedLength: 0,
    poll: null,
    isExpired: false,
    show,
  };
  return follow;
}

/** Tells others of each change of the status, and of the end. */
export const createOrderNotifier = (run: RunReceivers<OrderChange>): Notifier<OrderTrail> =>
  createNotifier(run, {
    toNotice: toOrderChange,
    toEvent: toOrderEvent,
    isNews: isChange,
    maxWaiting: 100, // more changes than an order has
  });

/** One line for each receiver that was not told of something, for the UI. */
export const notToldOf = ({ inbox, notifier }: Follow): string[] => [...inbox.leftOut, ...notifier.undelivered()];

/** Has the order ended, or its following been stopped, or expired? */
export const isOver = ({ trail, inbox, isExpired }: Follow): boolean =>
  trail.terminal || inbox.stopReason !== null || isExpired;

/** Shows the trail in the Temporal UI; adds no event. */
const showDetails = (trail: OrderTrail, undelivered: string[]): void =>
  setCurrentDetails(describeTrail(trail, undelivered));

/** The same, and in the search attributes. */
export function showTrail(trail: OrderTrail, seenBy: 'read' | 'delivery', undelivered: string[]): void {
  showDetails(trail, undelivered);
  const isNewStatus = (workflowInfo().typedSearchAttributes.get(rideStatusKey) ?? null) !== trail.status;
  writeAttributes([
    { key: rideStatusKey, value: trail.status },
    ...(isNewStatus ? [{ key: rideSeenByKey, value: seenBy }] : []),
    { key: rideAttentionKey, value: trail.attention?.code ?? null },
  ]);
}

// The meter counts nothing while a run is replayed. Labels are words from closed lists.

interface Seen extends Omit<FoundChange, 'now'> {
  before: OrderTrail;
  after: OrderTrail;
}

/** Counts a change of the status by what made us look, and how late it was seen. */
export function countChange({ before, after, seen, claims, lastReadAt }: Seen): void {
  if (after.status === null || after.status === before.status) return;
  const foundBy = before.status === null ? 'first' : claims.length > 0 ? 'delivery' : 'read';
  metricMeter
    .createCounter(
      'faretrail_status_changes_total',
      undefined,
      'Changes of the status of orders by how they were seen.',
    )
    .add(1, { account: after.account, status: toKnownStatus(after.status) ?? 'other', seen_by: foundBy });
  const lagMs = statusLagMs({ seen, claims, lastReadAt, now: Date.now() });
  if (foundBy === 'first' || lagMs === undefined) return;
  metricMeter
    .createHistogram('faretrail_status_lag_seconds', 'float', 's', 'How late changes of the status were seen.')
    .record(lagMs / 1_000, { seen_by: foundBy });
}

/** Counts the end of a run; without an outcome the service does not know the order. */
export const countEnd = ({ account, outcome }: OrderTrail): void =>
  metricMeter
    .createCounter('faretrail_order_ends_total', undefined, 'Runs that followed an order, by how they ended.')
    .add(1, { account, outcome: outcome ?? 'notFound' });
