import { iso, PublishedInstantSchema } from '../instant.js';
import type { OrderId } from '../keys.js';
import * as s from '../schema.js';

// How reliably deliveries announce the changes of an account's orders. While that is proven, polls of announced orders may be rarer
// (`nextReadMs`). Only what was counted is proof: ends that a delivery announced, and no miss.

/** So many looks of the watch make up the window in which it counts: a day. */
export const windowLooks = 24;

/**
 * So many steps lead from the pace at which nothing is proven to the slowest one. Each step needs `endsPerStep` more orders whose end a
 * delivery announced within the window of a day, 1 to 100,000. Of 50 ends without a miss it follows, with a probability of 95 %, that fewer than
 * 6 % of the changes are missed (rule of three), and of 200 that fewer than 1.5 % are.
 */
export const reliabilitySteps = 4;
/** See `reliabilitySteps`. */
export const defaultEndsPerStep = 50;

const MissedDeliverySchema = s.answerOf({
  orderId: s.answered<OrderId>(),
  at: s.answered('When the run learnt of it.'),
});
/** A change of an announced order that a poll found, although no delivery had announced it. */
export type MissedDelivery = s.Read<typeof MissedDeliverySchema>;

/** What the `subscription` run knows of it. Instants are ISO 8601 UTC. */
export const ReliabilitySchema = s.answerOf({
  watchedSince: s.answered('Misses have been recorded since then, so only what came later counts.'),
  step: s.described(s.wholeNumber(0, reliabilitySteps), `0: nothing is proven; ${reliabilitySteps}: all that can be.`),
  ends: s.described(s.wholeNumber(), 'The orders whose end a delivery announced, at the last count.'),
  countedAt: s.answered(),
  until: s.answered('The proof holds until then unless it is counted again.'),
  missed: s.nullable(MissedDeliverySchema, 'The last change that a poll found, although no delivery had announced it.'),
});
/** What the `subscription` run knows of it. */
export type Reliability = s.Read<typeof ReliabilitySchema>;

/** What a count goes by. Times are milliseconds, instants milliseconds since the epoch. */
export interface ReliabilityTerms {
  /** How often the watch counts. */
  everyMs: number;
  endsPerStep: number;
  now: number;
}

const windowMs = ({ everyMs }: ReliabilityTerms): number => windowLooks * everyMs;

/** Was there a miss within the window? Then nothing is proven, whatever else is counted. */
export const isMissRecent = ({ missed }: Pick<Reliability, 'missed'>, terms: ReliabilityTerms): boolean =>
  missed !== null && Date.parse(missed.at) > terms.now - windowMs(terms);

/** The record after a count of `ends`. It rises by one step in the time between two looks, and falls at once. */
export function reliabilityAfter(held: Reliability, ends: number, terms: ReliabilityTerms): Reliability {
  const earned = isMissRecent(held, terms) ? 0 : Math.min(reliabilitySteps, Math.floor(ends / terms.endsPerStep));
  const mayRise = terms.now - Date.parse(held.countedAt) >= terms.everyMs;
  const step = Math.min(earned, mayRise ? held.step + 1 : held.step);
  return { ...held, step, ends, countedAt: iso(terms.now), until: iso(terms.now + windowMs(terms)) };
}

/** Must the run learn of this count? A proof that still stands is published anew once half of its time is over. */
export const isReliabilityNews = (held: Reliability, counted: Reliability, terms: ReliabilityTerms): boolean =>
  counted.step !== held.step || (held.step > 0 && Date.parse(held.until) - terms.now < windowMs(terms) / 2);

/** The record of a run that has none: nothing is proven. */
export const noReliability = (now: string): Reliability => ({
  watchedSince: now,
  step: 0,
  ends: 0,
  countedAt: now,
  until: now,
  missed: null,
});

/** The memo field that holds a `ReliabilityMemo`. Not part of what the ingress reads, which must never fail because of it. */
export const reliabilityMemoField = 'reliability';

/** What the `subscription` run publishes for the workers of the fleet. */
export const ReliabilityMemoSchema = s.answerOf({
  step: s.wholeNumber(0, reliabilitySteps),
  until: PublishedInstantSchema,
  missedAt: s.nullable(PublishedInstantSchema),
});
/** The part of a `Reliability` that workers need. */
export type ReliabilityMemo = s.Read<typeof ReliabilityMemoSchema>;

/** How far polls may be stretched, 0 to 1, by what a run has published. */
export const earnedShare = ({ step, until }: ReliabilityMemo, now: number): number =>
  Date.parse(until) > now ? step / reliabilitySteps : 0;
