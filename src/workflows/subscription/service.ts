import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  proxyActivities,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { ResetActivities } from '../../activities/runs.js';
import type { SubscriptionActivities } from '../../activities/subscription.js';
import {
  currentGeneration,
  nextEnd,
  type RemovalOutcome,
  type SubscribingOutcome,
  type SubscriptionGeneration,
  type SubscriptionState,
} from '../../domain/subscription/state.js';
import { type SubscriptionInput, silenceWatchOf } from '../../domain/subscription/subscription.js';
import { accountQueue, ownDelays, untilNews } from '../activity-options.js';
import { cancelOnce, firstOf, whenFailed } from '../run-kit.js';

/** Two HTTP requests (20 s each) and two waits for a token (10 s each). Only this timeout reveals a dead worker. */
const startToCloseTimeout = 70_000;
/** People's calls go ahead of reads, and behind the request for the token that they need. */
const priority = { priorityKey: 2 };

/** Asks the service once to deliver to this address. The run waits for a request under way even if `interrupted`, since its result matters. */
export async function requestSubscriber(
  { account, eventType, requests }: SubscriptionState,
  { generation, publicUrl }: SubscriptionGeneration,
  interrupted: () => boolean,
): Promise<SubscribingOutcome> {
  const { createSubscriber } = proxyActivities<SubscriptionActivities>({
    startToCloseTimeout,
    retry: { maximumAttempts: 1 }, // the run repeats it: only its history knows what was sent
    priority,
    taskQueue: accountQueue(account),
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Subscribe to ${eventType}, address ${generation}`,
  });
  try {
    return await cancelOnce(interrupted, () =>
      createSubscriber({ account, eventType, generation, publicUrl, number: requests }),
    );
  } catch (error) {
    if (!(isCancellation(error) ? interrupted() : error instanceof ActivityFailure)) throw error;
    return toOutcome(error);
  }
}

/** Only an invalid input fails the run. */
function toOutcome(error: unknown): SubscribingOutcome {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure && cause.type === 'InvalidInput')
    throw ApplicationFailure.nonRetryable(cause.message, cause.type);
  const reason =
    cause instanceof TimeoutFailure ? 'A worker stopped during a request' : 'A request was ended from outside';
  return { kind: 'unclear', message: `${reason}. The service is asked again, for another address.` };
}

/** After this time the run reports the subscriber as still registered. */
const removalTimeout = 60_000;

/** Removes the subscriber of an address that the ingress now refuses. Never fails. */
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
  const removing = activities.removeSubscriber({ account, eventType, generation, publicUrl, subscriberId });
  return await whenFailed<RemovalOutcome>(removing, () => ({
    kind: subscriberId === null ? 'unknown' : 'registered',
    subscriberId,
  }));
}

/** Waits until `interrupted`, the end of an address, or a reset. True: an operator has reset the run. */
export const rest = (
  state: SubscriptionState,
  input: SubscriptionInput,
  interrupted: () => boolean,
): Promise<boolean | undefined> =>
  firstOf<boolean | undefined>(() => {
    const others = [condition(interrupted).then(() => undefined), ...untilNextEnd(state)];
    return { activity: watchResets(state, input), others };
  });

function untilNextEnd(state: SubscriptionState): Promise<undefined>[] {
  const end = nextEnd(state);
  if (end === undefined) return [];
  // Temporal refuses a timer of 0.
  const waiting = sleep(Math.max(end - Date.now(), 1), { summary: 'Refuse the old address' });
  return [waiting.then(() => undefined)];
}

function watchResets(state: SubscriptionState, input: SubscriptionInput): Promise<boolean> | undefined {
  const { openedAt } = currentGeneration(state) ?? {};
  if (!openedAt) return undefined;
  const summary = 'Watch whether the run is reset';
  const { watchResets: watch } = proxyActivities<ResetActivities>({ ...untilNews, summary });
  const watching = watch({ everyMs: silenceWatchOf(input).everyMs, openedAt }).then(() => true);
  return whenFailed(watching, () => false); // whatever ends a watch from outside, another one begins
}
