import { answered, answerOf, type Read } from './schema.js';

/** Why a run needs a person (closed list). */
export const attentionCodes = [
  'credentialsRejected',
  'scopeRejected',
  'grantRejected',
  'forbidden',
  'unreadableStatus',
  'orderNotFound',
  'upstreamUnavailable',
  'outcomeUnknown',
  'subscriptionSilent',
] as const;

export type AttentionCode = (typeof attentionCodes)[number];

/** Why a run needs a person. The run shows it while the condition lasts and goes on by itself once it is repaired. */
export const AttentionSchema = answerOf({
  code: answered<AttentionCode>(),
  message: answered(),
  since: answered(),
});

/** Why a run needs a person. `since` is an ISO instant. */
export type Attention = Read<typeof AttentionSchema>;
