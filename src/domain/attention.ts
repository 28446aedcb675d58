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

/** Shown while a condition lasts; the run goes on by itself once it is repaired. `since` is an ISO instant. */
export interface Attention {
  code: AttentionCode;
  message: string;
  since: string;
}
