import { AttentionSchema, toConcern } from './attention.js';
import { FailureStreakSchema } from './failure-streak.js';
import { parserOf } from './input-fields.js';
import { PublishedInstantSchema } from './instant.js';
import { type AccountName, AccountNameSchema } from './keys.js';
import { attentionLines, cell, second } from './markdown.js';
import type { OrderLook, OrderObservation } from './order/trail.js';
import * as s from './schema.js';

const AccountWatchInputSchema = s.inputOf({ account: AccountNameSchema });
/** What the run of a watch is started with. */
export type AccountWatchInput = s.Read<typeof AccountWatchInputSchema>;

/** Reads the input of `accountWatch`. Throws `InvalidInput` that names the field. */
export const parseAccountWatchInput = parserOf(AccountWatchInputSchema);

/** The input of `watchOrders`. */
export interface WatchOrdersInput extends AccountWatchInput {
  /**
   * Id of this run, if the one before gave its watch back and continued as new. After a reset the run has another id, so
   * this one no longer applies.
   */
  renewedAs?: string;
}

/** The input of `nextReading` and of `watchOrder`: the order as its run shows it. */
export interface WatchOrderInput extends OrderLook {
  /** Do deliveries announce the changes of this order? */
  pushed: boolean;
}

/** Names the instant since which an order is followed in the memo of a run that continues another one. */
export const followedSinceMemoField = 'followedSince';

/** What Temporal itself shows of an order, without a worker. */
export interface ShownOrder extends Omit<WatchOrderInput, 'account' | 'orderId'> {
  /** False for a run of release 0.2.0, which shows neither when its status began nor a pick-up. Goes with 0.4.0. */
  isExact: boolean;
}

/** The same of one in a list. */
export type ListedOrder = WatchOrderInput & ShownOrder;

/** The id of the activity `nextReading` in each run. The watch completes it by this id, and need not have seen it. */
export const nextReadingId = 'watch';

const NextReadingSchema = s.answerOf({
  kind: s.wordOf(['reading']),
  reading: s.answerOf({
    status: s.answered(),
    rawStatus: s.answered(),
    terminal: s.flag,
    details: s.nullable(s.anyObject()),
    concern: s.nullable(AttentionSchema),
  }),
  at: PublishedInstantSchema,
  reads: s.wholeNumber(),
  stores: s.absentOr(s.yes),
  comparedWith: s.answered(),
  unchangedAt: s.nullable(PublishedInstantSchema),
});
const NextTroubleSchema = s.answerOf({
  kind: s.wordOf(['trouble']),
  attention: AttentionSchema,
  notBefore: PublishedInstantSchema,
  reads: s.wholeNumber(),
  comparedWith: s.answered(),
});

/**
 * The result of `nextReading`, with which the watch completes it: a poll found something other than what the run shows,
 * or polls of the order have failed for so long that a person should know. Polls are no reads of the run: `reads` is 0.
 */
export type NextFinding = NextReading | NextTrouble;

interface NextReading extends Compared, Extract<OrderObservation, { kind: 'reading' }> {
  /** When a poll last found what the run shows; null: not known. */
  unchangedAt: string | null;
}

interface NextTrouble extends Compared, Omit<Extract<OrderObservation, { kind: 'trouble' }>, 'brief'> {}

interface Compared {
  /** The status that the run showed, as far as the watch knew: if it shows another one, its own read is newer. */
  comparedWith: string;
}

/** Reads the result of `nextReading`, which an operator may have written by hand; null for anything else. Never throws. */
export function readNextFinding(value: unknown): NextFinding | null {
  const given = s.readOr(NextReadingSchema, value, null);
  if (given === null) return s.readOr(NextTroubleSchema, value, null);
  return { ...given, reading: { ...given.reading, concern: toConcern(given.reading.concern) } };
}

const SeenChangeSchema = s.answerOf({
  streak: s.nullable(FailureStreakSchema),
  unchangedAt: s.nullable(PublishedInstantSchema),
});
/** Argument of the signal `changeSeen`: trouble with this order that has lasted, or null for another answer than the run shows; and the
 *  instant after which the change happened. */
export type SeenChange = s.Read<typeof SeenChangeSchema>;

const nothingSeen: SeenChange = { streak: null, unchangedAt: null };

/** Why a worker gave the watch back. `idle`: the account has no live order. `renew`: the run should continue as new. */
export type WatchEnd = 'idle' | 'renew';

const told = {
  worker: s.nullable(s.answered(), 'Null until a worker has polled.'),
  orders: s.described(s.wholeNumber(), 'Live orders of the account.'),
  attention: s.nullable(AttentionSchema, 'The trouble of the whole account.'),
};

const WatchToldSchema = s.answerOf(told);
/** Argument of the signal `watchTold`: who holds the watch, and the trouble of the whole account. */
export type WatchTold = s.Read<typeof WatchToldSchema>;

/** Reads the argument of `changeSeen`, which any program may send. Never throws. */
export const readSeenChange = (value: unknown): SeenChange => s.readOr(SeenChangeSchema, value, nothingSeen);

/** Reads the argument of `watchTold`; null for anything else. */
export const readWatchTold = (value: unknown): WatchTold | null => s.readOr(WatchToldSchema, value, null);

/** Answer of the query `watchStatus`: what the worker with the watch told last. */
export const WatchStatusSchema = s.answerOf({
  account: s.answered<AccountName>(),
  since: s.nullable(s.answered(), 'When the worker told it.'),
  ...told,
});
/** The watch of an account, as its run knows it. */
export type WatchStatus = s.Read<typeof WatchStatusSchema>;

/** What the worker with the watch heartbeats: anyone reads it from the pending activity, without a worker. */
export interface WatchPulse {
  orders: number;
  /** How late the most overdue order is, in milliseconds. */
  lateMs: number;
  /** ISO instant at which this worker took the watch. */
  since: string;
  /** The worker has stopped polling, and hands the watch over. */
  isLeft?: true;
  /** Which order it would have polled after how many milliseconds. */
  dueInMs?: Record<string, number>;
}

/** The same as Markdown for the Temporal UI. */
export const describeWatch = ({ worker, since, orders, attention }: WatchStatus): string =>
  [
    worker === null || since === null
      ? 'No worker has polled yet.'
      : `**${orders}** live orders, polled by ${cell(worker)}. Told at ${second(since)} UTC; the pending activity shows the present.`,
    ...attentionLines(attention),
  ].join('\n\n');

/** The watch gets this share of the account's budget at least, and at most; the queue of the account hands out nine tenths. */
const leastShare = 0.1;
const mostShare = 0.9;
/** A process that may not be the only one with the watch: with the other's share that is no more than the budget and a quarter. */
const doubtfulShare = 0.25;

/** Polls per second that the watch of an account may send: what other calls leave of its budget. `used`: calls per second of all processes. */
export function pollsPerSecond(budget: number, { used, isOnlyOne }: { used: number; isOnlyOne: boolean }): number {
  const share = Math.min(Math.max(budget - used, budget * leastShare), budget * mostShare);
  return isOnlyOne ? share : Math.min(share, budget * doubtfulShare);
}
