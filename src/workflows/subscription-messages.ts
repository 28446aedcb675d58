import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { SubscriptionEnd, SubscriptionStatus } from '../domain/subscription-status.js';

/** Subscribes at a new path, with a new secret; answers when it is in force. The old ones are accepted for the grace (a
 *  day by default), and no longer when it is 0. */
export const rotateSubscriptionUpdate = defineUpdate<SubscriptionStatus, [{ graceMs?: number }]>('rotateSubscription');

/** The same at another public URL. */
export const moveSubscriptionUpdate = defineUpdate<SubscriptionStatus, [{ publicUrl: string; graceMs?: number }]>(
  'moveSubscription',
);

/** Ends the run: the ingress refuses all its addresses from now on. Says what the service still has of it. */
export const endSubscriptionUpdate = defineUpdate<SubscriptionEnd, [{ reason: string }]>('endSubscription');

/** The addresses and what needs a person; never a path or a secret. */
export const subscriptionStatusQuery = defineQuery<SubscriptionStatus>('subscriptionStatus');
