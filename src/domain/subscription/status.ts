import type { Attention } from '../attention.js';
import { attentionLines, cell, second, tableOf } from '../markdown.js';
import type { SubscriptionKey } from '../workflow-ids.js';
import { attentionOf, currentGeneration, type SubscriptionGeneration, type SubscriptionState } from './state.js';
import type { AcceptedGeneration, SubscriptionMemo } from './subscription.js';

/** One address of a subscription as people see it: neither its path nor a secret. Instants are ISO 8601 UTC. */
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
  /** Subscribers that the service still has, though their addresses are refused. */
  stillRegistered: string[];
  attention: Attention | null;
}

/** Result of `subscription`, and answer of `endSubscription`. */
export interface SubscriptionEnd extends SubscriptionKey {
  reason: string;
  endedAt: string;
  /** Subscribers that the service was made to forget. */
  removed: string[];
  /** Those that it still has: deliveries of theirs are refused by the ingress. */
  stillRegistered: string[];
  /** Requests whose outcome nobody knows: each may have left one more subscriber. */
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

/** What may be shown of a subscription. */
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
  // While the service is being asked its secret is on the way: that is not lost.
  isSecretLost: stage !== 'requested' && sealedSecret === null,
});

/** What the ingress has to know. */
export const toSubscriptionMemo = ({ generations }: SubscriptionState): SubscriptionMemo => ({
  accepted: generations.map(toAccepted),
});

const shownGenerations = 30;
const shownIds = 30;

/** A subscription as Markdown for the Temporal UI. Holds neither a path nor a secret. */
export function describeSubscription(status: SubscriptionStatus): string {
  const { attention, generations, stillRegistered } = status;
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
    ...(stillRegistered.length === 0
      ? []
      : [
          `Refused here, still registered at the service: ${stillRegistered
            .slice(-shownIds)
            .map((id) => cell(id))
            .join(', ')}`,
        ]),
  ].join('\n\n');
}
