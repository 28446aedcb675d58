import { type Attention, AttentionSchema } from '../attention.js';
import { shownText } from '../json.js';
import type { AccountName, OrderId } from '../keys.js';
import { attentionLines, cell, messageCell, second } from '../markdown.js';
import type { Notify } from '../notify/receivers.js';
import type { FollowOrderInput } from '../order/input.js';
import { type OrderTrail, OrderTrailSchema, outcomes, withoutDriver } from '../order/trail.js';
import * as s from '../schema.js';
import { shellWord } from '../shell-word.js';
import { type FollowOrderKey, followOrderId } from '../workflow-ids.js';
import type { RequestRideInput } from './input.js';
import type { QuotedPrice } from './quote.js';

const RideOutcomeSchema = s.described(
  s.wordOf([...outcomes, 'withdrawn']),
  'withdrawn: cancelled before anything was sent, so there is no order.',
);
/** The outcome of the order, or `withdrawn`. */
export type RideOutcome = s.Read<typeof RideOutcomeSchema>;

/** The ride started another run for its order, since the run before broke off. */
const FollowedAgainSchema = s.answerOf({
  // In a row; an hour without one ends the row.
  times: s.wholeNumber(),
  // ISO instant of the last one.
  at: s.answered(),
  // The type of its failure, and its message.
  reason: s.answered(),
});
type FollowedAgain = s.Read<typeof FollowedAgainSchema>;

/** Answer of the query `rideStatus` and of every update of a ride. */
export const RideStandingSchema = s.answerOf({
  account: s.answered<AccountName>(),
  requestId: s.answered(),
  // requesting: no order is known yet. following: until the order ends. receipt: it has ended, its receipt is read.
  stage: s.wordOf(['requesting', 'following', 'receipt', 'ended']),
  orderId: s.nullable(s.answered<OrderId>(), 'Null until the service has named it.'),
  // The status of the order in the last signal of `followOrder`.
  status: s.nullable(s.answered()),
  outcome: s.nullable(RideOutcomeSchema),
  // outcomeUnknown: a person must find out whether an order was made.
  attention: s.nullable(AttentionSchema),
  orderAttention: s.absentOr(
    s.nullable(AttentionSchema),
    'What the run of the order shows about the ride, such as latePickup. Absent or null: nothing.',
  ),
  followedAgain: s.absentOr(
    FollowedAgainSchema,
    'The run that followed the order broke off, so the order is followed again. Absent while that never happened.',
  ),
  suggestedOrderId: s.absentOr(
    s.nullable(s.answered<OrderId>()),
    'An order that the answer to a create in doubt named. It is followed only once resolveRide names it.',
  ),
  price: s.absentOr(
    s.nullable(s.answered()),
    'Of a ride with quote: the price of the last estimate, as it came. Null: the service named none.',
  ),
  currency: s.absentOr(s.nullable(s.answered()), 'Its code, such as GBP. Beside the price.'),
  receipt: s.absentOr(
    s.anyObject(),
    'The last answer of the service. Provisional: the service may recalculate it for days. Only in the query.',
  ),
  isReceiptSettled: s.absentOr(s.flag, 'Does the run read it no more? It may still change at the service.'),
});
/** Where a ride stands. */
export type RideStanding = s.Read<typeof RideStandingSchema>;

/** Result of `requestRide`. `orderId` and `trail` are null only with the outcome `withdrawn`. */
export const RideResultSchema = s.answerOf({
  account: s.answered<AccountName>(),
  requestId: s.answered(),
  orderId: s.nullable(s.answered<OrderId>()),
  outcome: s.nullable(RideOutcomeSchema),
  trail: s.nullable(OrderTrailSchema),
  receipt: s.nullable(s.anyObject(), 'Provisional. Null when none was wanted, or none came in time.'),
});
/** How a ride ended. */
export type RideResult = s.Read<typeof RideResultSchema>;

/** The result of a ride that has ended, without the driver. */
export const toRideResult = (
  { account, requestId, orderId, outcome }: RideStanding,
  trail: OrderTrail | null,
  receipt: RideResult['receipt'],
): RideResult => ({ account, requestId, orderId, outcome, trail: trail && withoutDriver(trail), receipt });

/** A ride before its first request. */
export const openRide = ({ account, requestId }: RequestRideInput): RideStanding => ({
  account,
  requestId,
  stage: 'requesting',
  orderId: null,
  status: null,
  outcome: null,
  attention: null,
});

const rowEndsAfterMs = 3_600_000;
const firstPauseMs = 1_000;
const longestPauseMs = 600_000;
const maxReason = 300;

/** The record after the run that follows the order broke off. `now` is an ISO instant. */
export function brokenOffAgain(before: FollowedAgain | undefined, reason: string, now: string): FollowedAgain {
  const isRow = before !== undefined && Date.parse(now) - Date.parse(before.at) < rowEndsAfterMs;
  return { times: isRow ? before.times + 1 : 1, at: now, reason: shownText(reason.slice(0, maxReason)) };
}

/** The pause before another run follows the order, since it may break off again. */
export const followAgainAfterMs = ({ times }: FollowedAgain): number =>
  Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs);

/** The request id by which the service prevents a second order (published). An account holds no ".", so no two rides share it. */
export const rideCallId = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>): string =>
  `ride.${account}.${requestId}`;

/** Reasons for doubt about the order of a ride. */
export interface RideDoubt {
  /** The last event as a sentence. */
  reason: string;
  /** The create was sent again after a person asked for it. */
  isRepeated?: boolean;
  /** An order that an answer of the service named. */
  suggestedOrderId?: OrderId | undefined;
}

const resolveCommand = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>): string =>
  `faretrail ride resolve ${account} ${requestId}`;

/** The attention of a ride whose create may or may not have placed an order. `now` is an ISO instant. */
export function outcomeUnknown(
  ride: Pick<RideStanding, 'account' | 'requestId'>,
  { reason, isRepeated = false, suggestedOrderId }: RideDoubt,
  now: string,
): Attention {
  const doubt = isRepeated ? 'An earlier attempt may have placed the order.' : 'The order may exist.';
  const command = resolveCommand(ride);
  const way =
    suggestedOrderId === undefined
      ? `Check with the service (request id ${rideCallId(ride)}), then run \`${command}\` with --order ID, --try-again or --give-up REASON.`
      : `The service named order ${suggestedOrderId}: check that it is the order of this ride, then run \`${command} --order ${shellWord(suggestedOrderId)}\`; otherwise --try-again or --give-up REASON.`;
  return { code: 'outcomeUnknown', message: `${reason} ${doubt} ${way}`, since: now };
}

/** Refusal of a change while it is unknown if there is an order to change. */
export const unresolvedText = (ride: Pick<RideStanding, 'account' | 'requestId'>): string =>
  `The order of this ride may or may not exist, so it cannot be changed yet. Check with the service and run \`${resolveCommand(ride)}\` first, then repeat this change.`;

/** A request to follow an order, by a new or a running run. */
export interface StartFollowingInput {
  /** For a new run. */
  input: FollowOrderInput;
  /** For a new and for a running run. */
  receivers: Notify[];
}

/** The input of the wait for the end of the run that follows an order. */
export interface AwaitFollowedInput extends FollowOrderKey {
  /** The run has announced its end, so it closes soon. */
  isEndTold: boolean;
}

/** How the run that followed an order ended. `type` is that of its failure; `NotFollowed`: a person ended the run. */
export type FollowedEnd = { kind: 'trail'; trail: OrderTrail } | { kind: 'failed'; type: string; message: string };

const usualFollowedPaceMs = 1_800_000;

/**
 * The pause between reads of the order run's end. The run signals its end, so these reads only detect a run that was
 * terminated or deleted. Each read is a billed action of Temporal Cloud: eight in four hours.
 */
export const followedPaceMs = (isEndTold: boolean, attempt: number): number =>
  isEndTold ? Math.min(100 * 2 ** attempt, usualFollowedPaceMs) : usualFollowedPaceMs;

const stageTexts: Record<RideStanding['stage'], string> = {
  requesting: 'is being ordered',
  following: 'is followed',
  receipt: 'has ended, its receipt is read',
  ended: 'has ended',
};

/** "broke off at ... UTC, the 2nd time in a row, ..." as the end of a sentence about the following of the order. */
export const followedAgainText = ({ times, at, reason }: FollowedAgain): string =>
  `broke off at ${second(at)} UTC${times === 1 ? '' : `, ${times} times in a row`}, and was begun again. ${reason}`;

/** "48.00 GBP" */
export const priceText = ({ price, currency }: QuotedPrice): string => [price, currency].filter(Boolean).join(' ');

/** A ride as Markdown for the Temporal UI: where it stands, where its order is followed, and what a person can do. */
export function describeRide(ride: RideStanding): string {
  const { account, stage, orderId, status, outcome, attention, orderAttention = null, followedAgain } = ride;
  const { price = null, currency = null } = ride;
  const head = [
    `The ride **${stageTexts[stage]}**`,
    ...(status === null ? [] : [`status **${cell(status)}**`]),
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
    ...(price === null ? [] : [`estimated at **${cell(priceText({ price, currency }))}**`]),
  ].join(', ');
  const order =
    orderId && `Order ${cell(orderId, 128)}, followed by \`${cell(followOrderId({ account, orderId }), 200)}\``;
  const broken = followedAgain && `The following of the order ${messageCell(followedAgainText(followedAgain))}`;
  const suggested = shellWord(ride.suggestedOrderId ?? 'ID');
  // Some signs have a meaning in Markdown. A command without one of them would name another order.
  const named = cell(suggested, 200) === suggested ? suggested : 'ID';
  const commands = [`--order ${named}`, '--try-again', '--give-up REASON']
    .map((way) => `- \`${resolveCommand(ride)} ${way}\``)
    .join('\n');
  return [
    head,
    ...(order ? [order] : []),
    ...(broken ? [broken] : []),
    ...attentionLines(attention),
    ...attentionLines(orderAttention),
    ...(attention?.code === 'outcomeUnknown' ? [commands] : []),
  ].join('\n\n');
}

const RideFailureSchema = s.answerOf({ type: s.answered(), message: s.answered() });
/** Why the run of a ride ended without a result. */
type RideFailure = s.Read<typeof RideFailureSchema>;

const { account, requestId, stage, orderId, outcome, price, currency } = RideStandingSchema.fields;

/** What a URL is told of a ride itself. Its order has notices of its own. */
const RideNoticeSchema = s.answerOf({
  account,
  requestId,
  stage: s.described(stage, 'At the time of the notice. ended: the last notice.'),
  orderId,
  outcome,
  price,
  currency,
  attention: s.nullable(AttentionSchema, 'What keeps the ride from its own calls, such as outcomeUnknown.'),
  failure: s.nullable(
    RideFailureSchema,
    'Why the run ended without a result; of type Cancelled where it was cancelled.',
  ),
});
/** What a URL is told of a ride itself. */
export type RideNotice = s.Read<typeof RideNoticeSchema>;

/** Body of the request that a `notify` URL of a ride gets about the ride itself. */
export const RideEventSchema = s.answerOf({
  type: s.wordOf(['ride.changed']),
  timestamp: s.described(s.answered(), 'When the run learnt of it.'),
  data: RideNoticeSchema,
});
/** See `RideEventSchema`. */
export type RideEvent = s.Read<typeof RideEventSchema>;

/** How the failure of a ride begins that a person gave up; the words of that person follow. */
export const givenUp = 'Given up by a person';

/** That of a run that was cancelled. */
export const rideCancelled: RideFailure = {
  type: 'Cancelled',
  message: 'The run of the ride was cancelled. An order that was made goes on, and so does the run that follows it.',
};

/** A ride fails with `OutcomeUnknown` only when a person gives it up, and that person's words may name somebody. */
const withoutReason = ({ type, message }: RideFailure): RideFailure => ({
  type,
  message: type === 'OutcomeUnknown' ? `${givenUp}.` : message,
});

/** The part of a ride that notices carry. */
export const toRideNotice = (
  { account, requestId, stage, orderId, outcome, price, currency, attention }: RideStanding,
  failure: RideFailure | null,
): RideNotice => ({
  ...{ account, requestId, stage, orderId, outcome, attention },
  ...(price === undefined ? {} : { price, currency: currency ?? null }),
  failure: failure && withoutReason(failure),
});

/** Is this news for URLs that got `last`? The order is named, attention comes, changes or goes, or the ride ends; nothing is after that. */
export const isRideNews = (notice: RideNotice, last: RideNotice | null): boolean =>
  last?.stage !== 'ended' &&
  (notice.stage === 'ended' ||
    notice.orderId !== (last?.orderId ?? null) ||
    notice.attention?.code !== last?.attention?.code);

/** The same notice as the body of a request. */
export const toRideEvent = (data: RideNotice): Omit<RideEvent, 'timestamp'> => ({ type: 'ride.changed', data });
