import type { Attention, AttentionCode } from './attention.js';
import type { RegisteredSubscriber } from './subscription-state.js';
import type { SubscriptionKey } from './workflow-ids.js';

/** One address of a subscription. */
export interface SubscriptionAddress extends SubscriptionKey {
  generation: string;
  publicUrl: string;
}

/** A request for a subscription. */
export interface CreateSubscriberInput extends SubscriptionAddress {
  /** The attention that the run shows by now. */
  shown: AttentionCode | null;
  /** No request before this ISO instant. */
  notBefore: string | null;
}

/** A subscriber at the service, and its secret as we keep it: sealed, or null when it was not told. */
export interface Registration {
  subscriber: RegisteredSubscriber;
  sealedSecret: string | null;
}

/** What became of a request for a subscription. */
export type SubscribingOutcome =
  | ({ kind: 'registered' } & Registration)
  /** It may be registered or not, and nobody knows its secret: another address has to be asked for. */
  | { kind: 'unclear'; message: string }
  /** It was not registered; `attention` says why, for a person. The same address may be asked for again. */
  | { kind: 'trouble'; attention: Attention; notBefore: string };

/** A subscriber that is not wanted any more; its id is null when nobody ever learnt it. */
export interface RemoveSubscriberInput extends SubscriptionAddress {
  subscriberId: string | null;
}

/** What became of it: `registered` when we are not let remove it, `unknown` when nobody can tell whether it exists. */
export interface RemovalOutcome {
  kind: 'removed' | 'registered' | 'unknown';
  subscriberId: string | null;
}
