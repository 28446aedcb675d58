import { ActivityFailure, ApplicationFailure, condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { SubscriptionActivities } from '../../activities/subscription.js';
import {
  attentionOf,
  type RemovalOutcome,
  type SubscribingOutcome,
  type SubscriptionGeneration,
  type SubscriptionState,
} from '../../domain/subscription/state.js';
import { accountQueue, ownDelays } from '../activity-options.js';
import { firstOf } from '../run-kit.js';

/** Two HTTP requests (20 s each), two waits for a token (10 s each). A dead worker is noticed by this alone. */
const startToCloseTimeout = 70_000;
/** People's calls go ahead of reads and polls (1 first, 5 last). */
const priority = { priorityKey: 1 };

/**
 * Asks the service to deliver to this address. Undefined: given up because of `interrupted`, and the outcome is unclear.
 * An attempt under way is waited for, since what it says decides what the service has.
 */
export async function requestSubscriber(
  state: SubscriptionState,
  { generation, publicUrl }: SubscriptionGeneration,
  interrupted: () => boolean,
): Promise<SubscribingOutcome | undefined> {
  const { account, eventType, notBefore } = state;
  const { createSubscriber } = proxyActivities<SubscriptionActivities>({
    startToCloseTimeout,
    retry: { ...ownDelays, maximumInterval: 60_000 },
    priority,
    taskQueue: accountQueue(account),
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Subscribe to ${eventType}, address ${generation}`,
  });
  const shown = attentionOf(state)?.code ?? null;
  let asking: Promise<SubscribingOutcome> | undefined;
  await firstOf<unknown>(() => {
    asking = createSubscriber({ account, eventType, generation, publicUrl, shown, notBefore });
    return [asking.catch(() => undefined), condition(interrupted)];
  });
  return await asking?.catch((error: unknown) => {
    if (interrupted()) return undefined;
    throw isCancellation(error) ? error : toRunFailure(error);
  });
}

/** The only failure that ends the activity is an input that nothing repairs. */
function toRunFailure(error: unknown): unknown {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(cause.message, cause.type ?? undefined);
}

/** How long to try before a person is told what the service still has. */
const removalTimeout = 60_000;

/** Makes the service forget the subscriber of an address that is refused from now on. Never fails. */
export async function removeSubscriber(
  state: SubscriptionState,
  { generation, publicUrl, subscriber }: SubscriptionGeneration,
): Promise<RemovalOutcome> {
  const { account, eventType } = state;
  const subscriberId = subscriber?.id ?? null;
  const activities = proxyActivities<SubscriptionActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: removalTimeout,
    retry: ownDelays,
    priority,
    taskQueue: accountQueue(account),
    summary: `Unsubscribe address ${generation}`,
  });
  try {
    return await activities.removeSubscriber({ account, eventType, generation, publicUrl, subscriberId });
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { kind: subscriberId === null ? 'unknown' : 'registered', subscriberId };
  }
}
