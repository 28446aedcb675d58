import { parserOf } from '../input-fields.js';
import { InstantSchema } from '../instant.js';
import { cell, messageCell, second } from '../markdown.js';
import type { OrderChange } from '../order/trail.js';
import type { ReceiptAmounts } from '../report.js';
import type { RideNotice } from '../ride/ride.js';
import * as s from '../schema.js';
import { shownUrl, store, UrlOrStoreSchema } from './receivers.js';

const wholeNumber = s.wholeNumber(0, Number.MAX_SAFE_INTEGER, 'must be a whole number');

const NoticeSchema = s.inputOf({
  // Counted from 1 through the whole life of the run that tells it, past every continue-as-new.
  number: wholeNumber,
  // When that run learnt of the change.
  at: InstantSchema,
  type: s.text(),
  data: s.anyObject() as s.Schema<object>,
  to: UrlOrStoreSchema,
  // The run that tells it tells no more.
  isLast: s.flag,
  // When a person had it sent again. The receiver then has a day from here.
  resentAt: s.optional(InstantSchema),
});
/** One notice for a URL or the store. Plain JSON. */
export type Notice = s.Read<typeof NoticeSchema>;

/** Reads the argument of `noticeGiven`, which any program may send; null for anything else. */
export const readNotice = (value: unknown): Notice | null => s.readOr(NoticeSchema, value, null);

/** The reason of a change that the store refused; also its code where runs that need a person are listed. */
export const refusedByStore = 'refused';

/**
 * Why a receiver missed a notice. `refused`: it answered with a 4xx that a repeat would not change, or the store refuses what the change holds. `gone`: it wants no more. `originNotAllowed` and
 * `addressNotAllowed`: the settings forbid it. `expired`: a day went by. `dropped`: too many were waiting.
 */
export type MissedReason = 'refused' | 'gone' | 'originNotAllowed' | 'addressNotAllowed' | 'expired' | 'dropped';

const whyMissed = {
  reason: s.answered<MissedReason>(),
  // The HTTP status of the last answer, where there was one.
  status: s.nullable(wholeNumber),
  missedAt: InstantSchema,
};

const NoticesInputSchema = s.inputOf({
  // The notices that wait, oldest first.
  waiting: s.listOf(NoticeSchema),
  // Those that the receiver missed and a person may have sent again, the latest last. Unset in runs of an earlier release.
  kept: s.optional(s.listOf(s.inputOf({ notice: NoticeSchema, why: s.answered(), ...whyMissed }))),
  // How many more were never taken, the last one, and why.
  missed: s.nullable(s.inputOf({ count: wholeNumber, last: wholeNumber, why: s.answered() })),
  // It has answered that it wants no more notices (410).
  gone: s.nullable(UrlOrStoreSchema),
  // The last notice was told.
  isEnded: s.flag,
  // The most notices that wait and are kept. All of them must fit into one payload.
  maxWaiting: wholeNumber,
});
/** The input of `notices`: what waits for one receiver, and what it has missed. Plain JSON. */
export type NoticesInput = s.Read<typeof NoticesInputSchema>;

/** Reads the input of `notices`. Throws `InvalidInput` that names the field. */
export const parseNoticesInput = parserOf(NoticesInputSchema);

/** Result of `notices`. `missed`: how many notices were never taken, the last one, and why. */
export type NoticesEnd = Pick<NoticesInput, 'missed'>;

/** What the receiver has not taken so far, with those that are kept. */
export function toNoticesEnd({ kept = [], missed }: NoticesInput): NoticesEnd {
  const latest = kept.at(-1);
  if (!latest) return { missed };
  return { missed: { count: (missed?.count ?? 0) + kept.length, last: latest.notice.number, why: latest.why } };
}

/** What a run of `notices` begins with. */
export const noticesSince = (first: Notice, maxWaiting: number): NoticesInput =>
  addNotice({ waiting: [], missed: null, gone: null, isEnded: false, maxWaiting }, first);

/** Adds a notice. If too many wait, it drops the oldest but the one that is being sent just now. */
export function addNotice(before: NoticesInput, notice: Notice): NoticesInput {
  const after = { ...before, isEnded: notice.isLast };
  if (notice.to === before.gone) return after;
  const waiting = [...before.waiting, notice];
  const oldest = waiting[1];
  if (waiting.length <= before.maxWaiting || !oldest) return fitting({ ...after, waiting });
  return { ...withMissed(after, oldest, 'too many were waiting'), waiting: waiting.filter((one) => one !== oldest) };
}

/** What became of a notice. `why` is for people. */
export type NoticeFate = { kind: 'told' } | { kind: 'missed'; reason: MissedReason; why: string; status?: number };

/** What is left after the oldest notice was taken or missed. `missedAt`: now; null: such a notice is not kept. */
export function passNotice(before: NoticesInput, fate: NoticeFate, missedAt: string | null): NoticesInput {
  const [passed, ...rest] = before.waiting;
  if (!passed) return before;
  const after = { ...before, waiting: rest };
  if (fate.kind === 'told') return after;
  const { reason, why, status = null } = fate;
  if (reason !== 'gone' && missedAt !== null)
    return fitting({ ...after, kept: [...(after.kept ?? []), { notice: passed, reason, why, status, missedAt }] });
  const marked = withMissed(after, passed, why);
  if (reason !== 'gone') return marked;
  return { ...marked, gone: passed.to, waiting: rest.filter(({ to }) => to !== passed.to) };
}

const withMissed = (before: NoticesInput, { number }: Notice, why: string): NoticesInput => ({
  ...before,
  missed: { count: (before.missed?.count ?? 0) + 1, last: number, why },
});

/** Forgets the oldest of those kept if, with those that wait, they are one too many. */
function fitting(before: NoticesInput): NoticesInput {
  const [oldest, ...kept] = before.kept ?? [];
  if (!oldest || before.waiting.length + kept.length < before.maxWaiting) return before;
  return withMissed({ ...before, kept }, oldest.notice, oldest.why);
}

const ResendRequestSchema = s.inputOf({ number: wholeNumber, missedAt: InstantSchema });
/** Argument of `resendRequested`: a notice as the caller saw it. One that was refused anew since then is another. */
export type ResendRequest = s.Read<typeof ResendRequestSchema>;

/** Lets a notice wait again, if it is kept as the caller saw it. */
export function resend(before: NoticesInput, request: unknown, now: string): NoticesInput {
  const { number, missedAt } = s.readOr(ResendRequestSchema, request, { number: 0, missedAt: '' });
  const again = before.kept?.find((one) => one.notice.number === number && one.missedAt === missedAt);
  if (!again) return before;
  const kept = before.kept?.filter((one) => one !== again) ?? [];
  return { ...before, waiting: [...before.waiting, { ...again.notice, resentAt: now }], kept };
}

/** In the memo of `notices`: what its receiver missed and may be sent again, with the host alone of a URL. */
export const missedMemoField = 'missed';
/** `RideStatus` of the runs with such a memo. */
export const missedStatus = 'missed';

const shownNotice = { number: wholeNumber, type: s.answered(), at: InstantSchema, to: s.answered() };
export const MissedMemoSchema = s.listOf(s.answerOf({ ...shownNotice, ...whyMissed }));
/** One of these notices. */
export type MissedNotice = s.Read<typeof MissedMemoSchema>[number];

/** What a run of `notices` publishes. */
export const toMissedMemo = ({ kept = [] }: NoticesInput): MissedNotice[] =>
  kept.map(({ notice: { number, type, at, to }, why: _, ...missed }) => ({
    ...{ number, type, at, to: shownUrl(to) },
    ...missed,
  }));

/** Failure type of a change that the store never takes, for what it holds. Others go on, and a person is told: see `isRefusedByStore`. */
export const storeRefuses = 'ChangeRefused';

/** Did the store refuse this change? Then the run of `notices` needs a person until it is sent again and taken. */
export const isRefusedByStore = ({ to, reason }: MissedNotice): boolean =>
  to === shownUrl(store) && reason === refusedByStore;

/** A receipt of a ride on its way into the store. */
export interface StoredReceipt extends ReceiptAmounts, Pick<RideNotice, 'account' | 'orderId'> {}

/** A change of an order or a ride on its way into the store. Plain JSON. */
export interface StoredChange {
  /** Id of the first of the runs that continued as new. */
  run: string;
  /** Number of the change in these runs, so that a repeat is no second row. */
  notice: number;
  /** When the run recorded the change, ISO 8601 UTC by the clock of Temporal. Later where a lost task has to be done again. */
  at: string;
  /**
   * `order.changed`, `order.ended`, `attention.raised`, `attention.cleared` or `reference.added`; `ride.changed`;
   * `ride.receipt`.
   */
  type: string;
  change: OrderChange | RideNotice | StoredReceipt;
}

/** What waits for a receiver and what it has missed, as Markdown for the Temporal UI. `about`: the workflow that tells it. */
export function describeNotices(about: string, notices: NoticesInput): string {
  const { waiting, kept = [], gone } = notices;
  const { missed } = toNoticesEnd(notices);
  const [next] = waiting;
  return [
    `**Notices about ${cell(about, 200)}**`,
    next
      ? `${waiting.length} wait for ${shownUrl(next.to)}: next no. ${next.number}, known since ${second(next.at)} UTC. The pending activity shows why it is not taken.`
      : 'None waits.',
    ...(gone ? [`${shownUrl(gone)} wants no more.`] : []),
    ...(missed ? [`Not taken: ${missed.count}, last no. ${missed.last}: ${messageCell(missed.why)}`] : []),
    ...(kept.length > 0 ? [`${kept.length} of them may be sent again: \`faretrail notice resend\``] : []),
  ].join('\n\n');
}
