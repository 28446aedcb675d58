import type { Attention } from '../attention.js';
import { attentionLines, cell, second, tableOf } from '../markdown.js';
import type { SubscriptionKey } from '../workflow-ids.js';
import { attentionOf, currentGeneration, type SubscriptionGeneration, type SubscriptionState } from './state.js';
import type { AcceptedGeneration, SubscriptionMemo } from './subscription.js';

/** One address of a subscription as people see it, without its path and secret. Instants are ISO 8601 UTC. */
export interface GenerationStatus {
  generation: string;
  /** `requested`: the service has not answered yet. `current`: in force. `replaced`: accepted until `until`. `unclear`:
   *  an answer was lost, so it is accepted by its path alone. */
  state: 'requested' | 'current' | 'replaced' | 'unclear';
  publicUrl: string;
  openedAt: string;
  until: string | null;
  subscriberId: string | null;
  /** Texts of the service. */
  createdAt: string | null;
  updatedAt: string | null;
  isSecretKnown: boolean;
}

/** Answer of the query `subscriptionStatus`, and of the updates that change the address. */
export interface SubscriptionStatus extends SubscriptionKey {
  /** `active`: some address is in force. */
  state: 'subscribing' | 'active' | 'ended';
  publicUrl: string;
  /** Newest first. */
  generations: GenerationStatus[];
  /** Subscribers that the service still has although the ingress refuses their addresses. */
  stillRegistered: string[];
  attention: Attention | null;
}

/** Result of `subscription`, and answer of `endSubscription`. */
export interface SubscriptionEnd extends SubscriptionKey {
  reason: string;
  endedAt: string;
  /** Removed subscribers. */
  removed: string[];
  /** Subscribers that the service still has; the ingress refuses their deliveries. */
  stillRegistered: string[];
  /** Requests with an unclear outcome: each may have left one more subscriber. */
  unclear: number;
}

const toGenerationStatus = ({ stage, sealedSecret, subscriber, ...one }: SubscriptionGeneration): GenerationStatus => ({
  generation: one.generation,
  state: stage === 'registered' ? (one.until === null ? 'current' : 'replaced') : stage,
  publicUrl: one.publicUrl,
  openedAt: one.openedAt,
  until: one.until,
  subscriberId: subscriber?.id ?? null,
  createdAt: subscriber?.createdAt ?? null,
  updatedAt: subscriber?.updatedAt ?? null,
  isSecretKnown: sealedSecret !== null,
});

/** A subscription as people see it. */
export const toSubscriptionStatus = (state: SubscriptionState, isEnded: boolean): SubscriptionStatus => ({
  account: state.account,
  eventType: state.eventType,
  state: isEnded ? 'ended' : currentGeneration(state) ? 'active' : 'subscribing',
  publicUrl: state.publicUrl,
  generations: state.generations.map(toGenerationStatus),
  stillRegistered: state.stillRegistered,
  attention: attentionOf(state),
});

const toAccepted = ({ generation, until, stage, sealedSecret }: SubscriptionGeneration): AcceptedGeneration => ({
  generation,
  until,
  secrets: sealedSecret === null ? [] : [sealedSecret],
  // During the request the secret is on its way, and not lost.
  isSecretLost: stage !== 'requested' && sealedSecret === null,
});

/** The memo for the ingress. */
export const toSubscriptionMemo = ({ generations }: SubscriptionState): SubscriptionMemo => ({
  accepted: generations.map(toAccepted),
});

const shownGenerations = 30;
const shownIds = 30;

/** A subscription as Markdown for the Temporal UI. Holds neither a path nor a secret. */
export function describeSubscription(status: SubscriptionStatus): string {
  const { attention, generations } = status;
  const ids = status.stillRegistered.slice(-shownIds).map((id) => cell(id));
  const rows = generations
    .slice(0, shownGenerations)
    .map((one) => [
      one.generation,
      one.state,
      second(one.openedAt),
      second(one.until ?? '-'),
      cell(one.subscriberId ?? '-'),
      one.isSecretKnown ? 'yes' : 'no',
    ]);
  const head = ['address', 'state', 'opened (UTC)', 'accepted until (UTC)', 'subscriber', 'secret known'];
  return [
    `**${status.state}**: ${cell(status.eventType)} to ${cell(status.publicUrl, 200)}`,
    ...attentionLines(attention),
    tableOf(head, rows),
    ...(ids.length === 0 ? [] : [`Refused here, still registered at the service: ${ids.join(', ')}`]),
  ].join('\n\n');
}
