import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { RideStanding } from '../domain/requested-ride.js';
import { describeRide } from '../domain/requested-ride-details.js';
import { rideAttentionKey } from './search-attribute-keys.js';

/** Shows the ride in the Temporal UI. The attribute is written only on change: each write is an event. */
export function showRide(standing: RideStanding): void {
  setCurrentDetails(describeRide(standing));
  const attention = standing.attention?.code;
  if (workflowInfo().typedSearchAttributes.get(rideAttentionKey) === attention) return;
  upsertSearchAttributes([{ key: rideAttentionKey, value: attention ?? null }]);
}
