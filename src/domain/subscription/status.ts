import { AttentionSchema } from '../attention.js';
import type { AccountName } from '../keys.js';
import { attentionLines, cell, second, tableOf } from '../markdown.js';
import * as s from '../schema.js';
import { attentionOf, currentGeneration, type SubscriptionGeneration, type SubscriptionState } from './state.js';
import {
  type AcceptedGeneration,
  type EventType,
  type SubscriptionInput,
  type SubscriptionMemo,
  silenceWatchOf,
} from './subscription.js';

const GenerationStatusSchema = s.answerOf({
  generation: s.answered(),
  state: s.described(
    s.wordOf(['requested', 'current', 'replaced', 'unclear']),
    'requested: the service has not answered yet. current: in force. replaced: accepted until `until`. unclear: an answer was lost, so it is accepted by its path alone.',
  ),
  publicUrl: s.answered(),
  openedAt: s.answered(),
  until: s.nullable(s.answered()),
  subscriberId: s.nullable(s.answered()),
  createdAt: s.nullable(s.answered(), 'As it came from the service.'),
  updatedAt: s.nullable(s.answered(), 'As it came from the service.'),
  isSecretKnown: s.flag,
  verified: s.absentOr(
    s.answerOf({ header: s.answered('In lower case.'), at: s.answered('Of the first one.') }),
    'The header with the signature of its deliveries; absent before the first verified one.',
  ),
});
/** One address of a subscription as people see it, without its path and secret. Instants are ISO 8601 UTC. */
export type GenerationStatus = s.Read<typeof GenerationStatusSchema>;

/** Answer of the query `subscriptionStatus`, and of the updates that change the address. */
export const SubscriptionStatusSchema = s.answerOf({
  account: s.answered<AccountName>(),
  eventType: s.answered<EventType>(),
  state: s.described(s.wordOf(['subscribing', 'active', 'ended']), 'active: some address is in force.'),
  publicUrl: s.answered(),
  generations: s.described(s.listOf(GenerationStatusSchema), 'Newest first.'),
  stillRegistered: s.described(
    s.listOf(s.answered()),
    'Subscribers that the service still has although the ingress refuses their addresses.',
  ),
  attention: s.nullable(AttentionSchema),
});
/** A subscription as people see it. */
export type SubscriptionStatus = s.Read<typeof SubscriptionStatusSchema>;

/** Result of `subscription`, and answer of `endSubscription`. */
export const SubscriptionEndSchema = s.answerOf({
  account: s.answered<AccountName>(),
  eventType: s.answered<EventType>(),
  reason: s.answered(),
  endedAt: s.answered(),
  removed: s.described(s.listOf(s.answered()), 'Removed subscribers.'),
  stillRegistered: s.described(
    s.listOf(s.answered()),
    'Subscribers that the service still has; the ingress refuses their deliveries.',
  ),
  unclear: s.described(s.wholeNumber(), 'Requests with an unclear outcome: each may have left one more subscriber.'),
});
/** What is left of a subscription that has ended. */
export type SubscriptionEnd = s.Read<typeof SubscriptionEndSchema>;

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
  ...(one.proof && { verified: { header: one.proof.header, at: one.proof.at } }),
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

const toAccepted = (
  { generation, until, stage, sealedSecret, proof }: SubscriptionGeneration,
  reportEveryMs: number,
): AcceptedGeneration => ({
  generation,
  until,
  secrets: sealedSecret === null ? [] : [sealedSecret],
  // During the request the secret is on its way, and not lost.
  isSecretLost: stage !== 'requested' && sealedSecret === null,
  ...(proof && { verified: { header: proof.header, at: proof.at, reportEveryMs } }),
});

/** The memo for the ingress. */
export const toSubscriptionMemo = ({ generations }: SubscriptionState, input: SubscriptionInput): SubscriptionMemo => ({
  accepted: generations.map((one) => toAccepted(one, silenceWatchOf(input).everyMs)),
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
      cell(one.verified?.header ?? '-'),
    ]);
  const head = [
    'address',
    'state',
    'opened (UTC)',
    'accepted until (UTC)',
    'subscriber',
    'secret known',
    'signed in header',
  ];
  return [
    `**${status.state}**: ${cell(status.eventType)} to ${cell(status.publicUrl, 200)}`,
    ...attentionLines(attention),
    tableOf(head, rows),
    ...(ids.length === 0 ? [] : [`Refused here, still registered at the service: ${ids.join(', ')}`]),
  ].join('\n\n');
}
