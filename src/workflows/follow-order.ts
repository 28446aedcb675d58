import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { InvalidInput } from '../domain/errors.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../domain/follow-input.js';
import type { NoticeLog } from '../domain/notice-log.js';
import { toOrderChange } from '../domain/order-change.js';
import { expiresAt, type OrderTrail, openTrail, recordObservation } from '../domain/trail.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { refuseBadInput } from './bad-input.js';
import { handOver } from './late-notices-start.js';
import { showDetails, showTrail } from './order-display.js';
import { type CarriedInbox, carryInbox, listen, type OrderInbox, openInbox } from './order-inbox.js';
import { type Look, nextLook, type Poll } from './order-looks.js';
import { countChange, countEnd } from './order-metrics.js';
import { createNotifier, type Notifier } from './order-notices.js';
import { rideAccountKey } from './search-attribute-keys.js';
import { carryNotices } from './url-notices.js';

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

interface Follow {
  readonly input: FollowOrderInput;
  readonly limits: FollowOrderLimits;
  readonly startedAt: string;
  readonly inbox: OrderInbox;
  readonly notifier: Notifier;
  trail: OrderTrail;
  /** No look before this instant: the service, or our back-off, said so. */
  notBefore: string | null;
  lastReadAt: string | null;
  recordedLength: number;
  poll: Poll | null;
  isExpired: boolean;
}

/**
 * Follows one order until it ends at the service, and returns its trail. History grows with changes, not with polls (I6).
 * Fails with `InvalidInput` (names the field) and `OrderNotFound` (the service does not know the order).
 */
export async function followOrder(input: FollowOrderInput, progress?: FollowOrderProgress): Promise<OrderTrail> {
  const follow = open(input, progress);
  listen(follow, follow.inbox);
  watchExpiry(follow);
  while (!isOver(follow)) {
    const look = await nextLook(follow, () => isOver(follow) || hasTooManySignals(follow));
    if (look) await record(follow, look);
    await continueIfLong(follow);
  }
  return await close(follow);
}

function open(rawInput: FollowOrderInput, { limits, carried }: FollowOrderProgress = {}): Follow {
  const input = refuseBadInput(() => parseFollowOrderInput(rawInput));
  refuseBadInput(() => checkWorkflowId(input));
  const inbox = openInbox(input.notify, carried?.inbox);
  const startedAt = carried?.startedAt ?? new Date().toISOString();
  const trail = carried?.trail ?? openTrail(input, startedAt);
  if (!carried) upsertSearchAttributes([{ key: rideAccountKey, value: input.account }]);
  const follow: Follow = {
    input,
    limits: limits ?? defaultLimits,
    startedAt,
    inbox,
    notifier: createNotifier({
      receivers: inbox.receivers,
      told: carried ? toOrderChange(carried.trail) : null,
      notices: carried?.notices,
      onUndelivered: () => showDetails(follow.trail, follow.notifier.undelivered()),
    }),
    trail,
    notBefore: carried?.notBefore ?? null,
    lastReadAt: null,
    recordedLength: 0,
    poll: null,
    isExpired: false,
  };
  return follow;
}

/** Deliveries find the run by its id, and one id means one run: any other id would follow the order twice. */
function checkWorkflowId(input: FollowOrderInput): void {
  const expected = followOrderId(input);
  if (workflowInfo().workflowId !== expected) throw new InvalidInput(`workflow id: must be "${expected}"`);
}

/** One timer for the whole run; when the pick-up was moved meanwhile, another one for the rest. */
function watchExpiry(follow: Follow): void {
  const watch = async (): Promise<void> => {
    for (;;) {
      const leftMs = expiresAt(follow.input, follow.trail, follow.startedAt) - Date.now();
      if (leftMs <= 0) break;
      await sleep(leftMs, { summary: 'Stop following if the order has not ended' });
    }
    follow.isExpired = true;
  };
  watch().catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
}

const isOver = ({ trail, inbox, isExpired }: Follow): boolean =>
  trail.terminal || inbox.stopReason !== null || isExpired;

/** Also those that no handler was given: each signal is an event. */
const hasTooManySignals = ({ inbox, limits: { maxEvents, maxSignals } }: Follow): boolean =>
  inbox.signals >= maxSignals || workflowInfo().historyLength >= maxEvents + maxSignals;

async function record(follow: Follow, { seen, claims, serves }: Look): Promise<void> {
  const isAnnounced = claims.length + follow.inbox.claims.length > 0;
  const before = follow.trail;
  follow.trail = recordObservation(before, seen, claims, isAnnounced);
  countChange({ before, after: follow.trail, seen, claims, lastReadAt: follow.lastReadAt });
  follow.notBefore = seen.kind === 'trouble' ? seen.notBefore : null;
  follow.lastReadAt = seen.kind === 'reading' ? seen.at : null;
  follow.recordedLength = workflowInfo().historyLength;
  follow.inbox.served = serves;
  showTrail(follow.trail, claims.length > 0 ? 'delivery' : 'read', follow.notifier.undelivered());
  follow.notifier.tell(follow.trail);
  if (seen.kind !== 'unknownOrder') return;
  countEnd(follow.trail);
  await settle(follow);
  const { account, orderId } = follow.input;
  const message = `The service does not know order ${orderId} at account ${account}. Check the id and the account.`;
  throw ApplicationFailure.nonRetryable(message, 'OrderNotFound');
}

/** Answers all who wait; nothing may be left behind in a run that ends. */
async function settle({ inbox, notifier }: Follow): Promise<void> {
  inbox.closing = true;
  await notifier.signalled();
  await condition(allHandlersFinished);
}

async function close(follow: Follow): Promise<OrderTrail> {
  if (!follow.trail.terminal) {
    follow.trail = { ...follow.trail, outcome: follow.inbox.stopReason === null ? 'expired' : 'stopped' };
  }
  countEnd(follow.trail);
  showTrail(follow.trail, 'read', follow.notifier.undelivered());
  follow.notifier.tell(follow.trail);
  await settle(follow);
  await handOver({ urls: follow.notifier.urls, account: follow.input.account, mayEnd: () => true });
  await follow.notifier.signalled(); // to those that were added meanwhile
  return follow.trail;
}

function isLong({ inbox, limits }: Follow): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  // A read that somebody waits for is answered by this run; one that a delivery wants, the next run makes.
  return inbox.refreshing === 0 && (continueAsNewSuggested || historyLength >= limits.maxEvents);
}

const mustContinue = (follow: Follow): boolean => !isOver(follow) && (isLong(follow) || hasTooManySignals(follow));

async function continueIfLong(follow: Follow): Promise<void> {
  if (!mustContinue(follow)) return;
  await follow.notifier.urls.hush();
  if (!mustContinue(follow)) return follow.notifier.urls.resume(); // somebody asked for something meanwhile
  await settle(follow);
  const { input, limits, trail, startedAt, notBefore, inbox } = follow;
  const notices = carryNotices(follow.notifier.urls);
  await continueAsNew<typeof followOrder>(input, {
    limits,
    carried: { trail, startedAt, notBefore, inbox: carryInbox(inbox), ...notices },
  });
}
