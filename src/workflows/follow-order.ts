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
import { showDetails, showTrail } from './order-display.js';
import { type CarriedInbox, carryInbox, isReadWanted, listen, type OrderInbox, openInbox } from './order-inbox.js';
import { type Look, nextLook, type Poll } from './order-looks.js';
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

const hasTooManySignals = ({ inbox, limits }: Follow): boolean => inbox.signals >= limits.maxSignals;

async function record(follow: Follow, { seen, claims, serves }: Look): Promise<void> {
  const isAnnounced = claims.length + follow.inbox.claims.length > 0;
  follow.trail = recordObservation(follow.trail, seen, claims, isAnnounced);
  follow.notBefore = seen.kind === 'trouble' ? seen.notBefore : null;
  follow.inbox.served = serves;
  showTrail(follow.trail, claims.length > 0 ? 'delivery' : 'read', follow.notifier.undelivered());
  follow.notifier.tell(follow.trail);
  if (seen.kind !== 'unknownOrder') return;
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

/** URLs are told from within the run, so it does not end before each was told of the end, or given up after a day. */
async function tellUrls({ notifier, poll }: Follow): Promise<void> {
  if (notifier.urls.isIdle()) return;
  poll?.scope.cancel(); // it would go on reading for nobody
  await notifier.urls.settled();
  await notifier.signalled(); // to those that were added meanwhile
}

async function close(follow: Follow): Promise<OrderTrail> {
  if (!follow.trail.terminal) {
    follow.trail = { ...follow.trail, outcome: follow.inbox.stopReason === null ? 'expired' : 'stopped' };
  }
  showTrail(follow.trail, 'read', follow.notifier.undelivered());
  follow.notifier.tell(follow.trail);
  await settle(follow);
  await tellUrls(follow);
  return follow.trail;
}

function isLong({ inbox, limits }: Follow): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  // A read that somebody waits for is answered by this run.
  return !isReadWanted(inbox) && (continueAsNewSuggested || historyLength >= limits.maxEvents);
}

async function continueIfLong(follow: Follow): Promise<void> {
  if (isOver(follow) || !(isLong(follow) || hasTooManySignals(follow))) return;
  await settle(follow);
  const { input, limits, trail, startedAt, notBefore, inbox } = follow;
  // Not waited for: a URL may be silent for a day. What it is just being told of it may be told once more, under the same id.
  const notices = follow.notifier.urls.carry();
  await continueAsNew<typeof followOrder>(input, {
    limits,
    carried: { trail, startedAt, notBefore, inbox: carryInbox(inbox), ...(notices && { notices }) },
  });
}
