import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { OrderTrail } from '../domain/trail.js';
import { describeTrail } from '../domain/trail-details.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from './search-attribute-keys.js';

/** Shows the trail in the Temporal UI; adds no event. */
export const showDetails = (trail: OrderTrail, undelivered: string[]): void =>
  setCurrentDetails(describeTrail(trail, undelivered));

/** The same, and in the search attributes. Attributes are written only on change: each write is an event. */
export function showTrail(trail: OrderTrail, seenBy: 'read' | 'delivery', undelivered: string[]): void {
  showDetails(trail, undelivered);
  const shown = workflowInfo().typedSearchAttributes;
  const attention = trail.attention?.code;
  const status = trail.status ?? undefined;
  const hasNewStatus = shown.get(rideStatusKey) !== status;
  const hasNewAttention = shown.get(rideAttentionKey) !== attention;
  if (!hasNewStatus && !hasNewAttention) return;
  upsertSearchAttributes([
    ...(hasNewStatus ? [{ key: rideStatusKey, value: status ?? null }] : []),
    ...(hasNewStatus ? [{ key: rideSeenByKey, value: seenBy }] : []),
    ...(hasNewAttention ? [{ key: rideAttentionKey, value: attention ?? null }] : []),
  ]);
}
