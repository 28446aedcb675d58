import { AttentionSchema } from '../attention.js';
import * as s from '../schema.js';
import { type RideStanding, RideStandingSchema } from './ride.js';

const RideFailureSchema = s.answerOf({ type: s.answered(), message: s.answered() });
/** Why the run of a ride ended without a result. */
export type RideFailure = s.Read<typeof RideFailureSchema>;

const { account, requestId, stage, orderId, outcome } = RideStandingSchema.fields;

/** What a URL is told of a ride itself. Its order has notices of its own. */
export const RideNoticeSchema = s.answerOf({
  account,
  requestId,
  stage: s.described(stage, 'At the time of the notice. ended: the last notice.'),
  orderId,
  outcome,
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
type RideEvent = s.Read<typeof RideEventSchema>;

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
  { account, requestId, stage, orderId, outcome, attention }: RideStanding,
  failure: RideFailure | null,
): RideNotice => ({
  ...{ account, requestId, stage, orderId, outcome, attention },
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
