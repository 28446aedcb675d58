import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { InvalidInput } from '../domain/errors.js';
import { type FollowOrderInput, parseFollowOrderInput, toEarlierRunId } from '../domain/follow-input.js';
import type { NoticeLog } from '../domain/notice-log.js';
import { toOrderChange } from '../domain/order-change.js';
import { type OrderTrail, openTrail } from '../domain/trail.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { refuseBadInput } from './bad-input.js';
import { showDetails } from './order-display.js';
import { type CarriedInbox, type OrderInbox, openInbox } from './order-inbox.js';
import type { Poll } from './order-looks.js';
import { createNotifier, type Notifier } from './order-notices.js';
import { rideAccountKey } from './search-attribute-keys.js';

/** When a run continues as new: beside the server's own hint, after so many events or signals. */
export interface FollowOrderLimits {
  maxEvents: number;
  maxSignals: number;
}

/** Well below the 10,240 events at which the server warns, and the 10,000 signals after which it refuses. */
const defaultLimits: FollowOrderLimits = { maxEvents: 4_000, maxSignals: 5_000 };

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
  notifier: Notifier;
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
  refuseBadInput(() => checkWorkflowId(input));
  const earlier = (continues ?? null) === null ? null : refuseBadInput(() => toEarlierRunId(continues));
  const inbox = openInbox(input.notify, carried?.inbox);
  const startedAt = carried?.startedAt ?? new Date().toISOString();
  if (!carried) upsertSearchAttributes([{ key: rideAccountKey, value: input.account }]);
  const show = (): void => showDetails(follow.trail, notToldOf(follow));
  const follow: Follow = {
    input,
    limits: limits ?? defaultLimits,
    startedAt,
    inbox,
    notifier: createNotifier({
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

/** Deliveries find the run by its id, and one id means one run: any other id would follow the order twice. */
function checkWorkflowId(input: FollowOrderInput): void {
  const expected = followOrderId(input);
  if (workflowInfo().workflowId !== expected) throw new InvalidInput(`workflow id: must be "${expected}"`);
}

/** One line for each receiver that was not told of something, for the UI. */
export const notToldOf = ({ inbox, notifier }: Follow): string[] => [...inbox.leftOut, ...notifier.undelivered()];

/** Is there nothing left to follow, or nobody who wants it followed? */
export const isOver = ({ trail, inbox, isExpired }: Follow): boolean =>
  trail.terminal || inbox.stopReason !== null || isExpired;
