import { setCurrentDetails, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { type SubscriptionMemo, subscriptionMemoField } from '../domain/subscription.js';
import { describeSubscription } from '../domain/subscription-details.js';
import { attentionOf, type SubscriptionState } from '../domain/subscription-state.js';
import { toSubscriptionMemo, toSubscriptionStatus } from '../domain/subscription-status.js';
import { rideAccountKey, rideAttentionKey } from './search-attribute-keys.js';

const nothing: SubscriptionMemo = { accepted: [] };

/** Tells the ingress what to accept, and people where the subscription stands. Written on change: a write is an event. */
export function showSubscription(state: SubscriptionState, isEnded: boolean): void {
  const memo = isEnded ? nothing : toSubscriptionMemo(state);
  const { memo: published, typedSearchAttributes: shown } = workflowInfo();
  if (JSON.stringify(published?.[subscriptionMemoField]) !== JSON.stringify(memo)) {
    upsertMemo({ [subscriptionMemoField]: memo });
  }
  setCurrentDetails(describeSubscription(toSubscriptionStatus(state, isEnded)));
  const attention = isEnded ? undefined : attentionOf(state)?.code;
  const hasAccount = shown.get(rideAccountKey) === state.account;
  const hasAttention = shown.get(rideAttentionKey) === attention;
  if (hasAccount && hasAttention) return;
  upsertSearchAttributes([
    ...(hasAccount ? [] : [{ key: rideAccountKey, value: state.account }]),
    ...(hasAttention ? [] : [{ key: rideAttentionKey, value: attention ?? null }]),
  ]);
}
