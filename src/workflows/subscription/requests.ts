import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { SubscriptionActivities } from '../../activities/subscription.js';
import type { RemovalOutcome, SubscribingOutcome } from '../../domain/subscription/state.js';
import { attentionOf, type SubscriptionGeneration, type SubscriptionState } from '../../domain/subscription/state.js';

/** Every call to the service goes through the queue of its account, which keeps the account's request budget. */
const taskQueueOf = ({ account }: SubscriptionState): string => `${workflowInfo().taskQueue}.${account}`;

/** Two HTTP requests (20 s each), two waits for a token (10 s each). A dead worker is noticed by this alone. */
const startToCloseTimeout = 70_000;
/** The activity names each delay itself; this one speaks after the death of a worker. */
const retry = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 60_000 };
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
    retry,
    priority,
    taskQueue: taskQueueOf(state),
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `Subscribe to ${eventType}, address ${generation}`,
  });
  const shown = attentionOf(state)?.code ?? null;
  const scope = new CancellationScope();
  return await scope.run(async () => {
    const asking = createSubscriber({ account, eventType, generation, publicUrl, shown, notBefore });
    await Promise.race([asking.catch(() => undefined), condition(interrupted)]);
    scope.cancel(); // ends what lost the race; no effect on what has ended
    return await asking.catch((error: unknown) => {
      if (interrupted()) return undefined;
      throw isCancellation(error) ? error : toRunFailure(error);
    });
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
    retry: { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000 },
    priority,
    taskQueue: taskQueueOf(state),
    summary: `Unsubscribe address ${generation}`,
  });
  try {
    return await activities.removeSubscriber({ account, eventType, generation, publicUrl, subscriberId });
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { kind: subscriberId === null ? 'unknown' : 'registered', subscriberId };
  }
}
