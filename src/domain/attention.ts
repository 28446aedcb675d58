import { answered, answerOf, type Read, readOr } from './schema.js';

/** About the plumbing: what keeps a run from its work. An operator repairs it. */
export const troubleCodes = [
  'credentialsRejected',
  'scopeRejected',
  'grantRejected',
  'forbidden',
  'unreadableStatus',
  'orderNotFound',
  'upstreamUnavailable',
  'outcomeUnknown',
  'subscriptionSilent',
  'deliveriesUnverified',
] as const;

/** About the ride, which is read as it should be. A person at the dispatch desk takes care of it. */
export const concernCodes = ['stuckInStatus', 'latePickup', 'customerCare'] as const;

/** Why a run needs a person (closed list). */
export const attentionCodes = [...troubleCodes, ...concernCodes] as const;

export type TroubleCode = (typeof troubleCodes)[number];
export type ConcernCode = (typeof concernCodes)[number];
export type AttentionCode = TroubleCode | ConcernCode;

/** Why a run needs a person. The run shows it while the condition lasts and goes on by itself once it is over. */
export const AttentionSchema = answerOf({
  code: answered<AttentionCode>(),
  message: answered(),
  since: answered(),
});

/** Why a run needs a person. `since` is an ISO instant. */
export type Attention = Read<typeof AttentionSchema>;

/** Attention about the ride. */
export type Concern = Attention & { code: ConcernCode };

const concerns: ReadonlySet<string> = new Set(concernCodes);

/** Is this code about the ride? A list may hold words that are no codes, such as those of parked deliveries. */
export const isConcernCode = (code: string): code is ConcernCode => concerns.has(code);

/** The code, if it is about the ride. */
export const toConcernCode = (code: AttentionCode | null): ConcernCode | null =>
  code !== null && isConcernCode(code) ? code : null;

/** The attention, if it is about the ride. */
export const toConcern = (attention: Attention | null): Concern | null =>
  attention !== null && isConcernCode(attention.code) ? (attention as Concern) : null;

/** Reads a concern that any program may have written; null for anything else. */
export const readConcern = (given: unknown): Concern | null => toConcern(readOr(AttentionSchema, given, null));
