import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  proxyActivities,
  sleep,
} from '@temporalio/workflow';
import type { SilenceActivities, SilenceVerdict, SubscriptionActivities } from '../../activities/subscription.js';
import {
  defaultReliabilityTarget,
  defaultSilenceWatch,
  type SilenceWatch,
  type SubscriptionInput,
} from '../../domain/subscription/input.js';
import { resubscribeAt, silenceAttention } from '../../domain/subscription/silence.js';
import {
  attentionOf,
  currentGeneration,
  nextEnd,
  type RemovalOutcome,
  reliabilityInForce,
  type SubscribingOutcome,
  type SubscriptionGeneration,
  type SubscriptionState,
  withReliability,
} from '../../domain/subscription/state.js';
import { accountQueue, ownDelays } from '../activity-options.js';
import { firstOf } from '../run-kit.js';
import { recordsReliability } from './inbox.js';

/** Two HTTP requests (20 s each) and two waits for a token (10 s each). Only this timeout reveals a dead worker. */
const startToCloseTimeout = 70_000;
/** People's calls go ahead of reads and polls (1 first, 5 last). */
const priority = { priorityKey: 1 };

/** Asks the service to deliver to this address. Undefined: `interrupted` became true, and the outcome is unclear. The run waits for an
 *  attempt under way, since its result matters. */
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

/** Only an invalid input makes the activity fail. */
function toRunFailure(error: unknown): unknown {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(cause.message, cause.type ?? undefined);
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
  try {
    return await activities.removeSubscriber({ account, eventType, generation, publicUrl, subscriberId });
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { kind: subscriberId === null ? 'unknown' : 'registered', subscriberId };
  }
}

/** Waits until `interrupted`, the end of an address, or news about silence, which it returns. */
export const rest = (
  state: SubscriptionState,
  input: SubscriptionInput,
  interrupted: () => boolean,
): Promise<SilenceVerdict | undefined> =>
  firstOf<SilenceVerdict | undefined>(() => [
    condition(interrupted).then(() => undefined),
    ...untilNextEnd(state),
    ...watchSilence(state, input),
  ]);

function untilNextEnd(state: SubscriptionState): Promise<undefined>[] {
  const end = nextEnd(state);
  if (end === undefined) return [];
  // Temporal refuses a timer of 0.
  const waiting = sleep(Math.max(end - Date.now(), 1), { summary: 'Refuse the old address' });
  return [waiting.then(() => undefined)];
}

const watchOf = ({ silence }: SubscriptionInput): SilenceWatch => ({ ...defaultSilenceWatch, ...silence });

function watchSilence(state: SubscriptionState, input: SubscriptionInput): Promise<SilenceVerdict>[] {
  const current = currentGeneration(state);
  // There is no expected rate of reports.
  if (!current?.registeredAt || state.eventType !== 'status_changed') return [];
  const { watchSilence: watch } = proxyActivities<SilenceActivities>({
    startToCloseTimeout: 30_000,
    // Applies only while Temporal's visibility does not answer.
    retry: { initialInterval: 10_000, backoffCoefficient: 2, maximumInterval: 600_000 },
    cancellationType: 'TRY_CANCEL',
    summary: 'Watch whether deliveries come',
  });
  const { everyMs, minOrders } = watchOf(input);
  const tellAgainAt = input.resubscribe ? new Date(resubscribeAt(state.resubscribedAt)).toISOString() : null;
  const { account, silence } = state;
  const { registeredAt } = current;
  const reliability = {
    ...{ ...defaultReliabilityTarget, ...input.reliability },
    held: reliabilityInForce(state) ?? null,
  };
  const isSilent = silence !== null;
  return [watch({ account, everyMs, minOrders, registeredAt, isSilent, tellAgainAt, reliability })];
}

/** Adds what a watch found to the state. */
export function withVerdict(
  state: SubscriptionState,
  input: SubscriptionInput,
  { isSilent, counts, reliability }: SilenceVerdict,
): SubscriptionState {
  const since = state.silence?.since ?? new Date().toISOString();
  const judged = { ...state, silence: isSilent ? silenceAttention(counts, watchOf(input), since) : null };
  return reliability && recordsReliability() ? withReliability(judged, reliability) : judged;
}

/** Is it time for a new subscription because of silence? */
export const isResubscriptionDue = (
  { silence, resubscribedAt }: SubscriptionState,
  input: SubscriptionInput,
): boolean => input.resubscribe === true && silence !== null && Date.now() >= resubscribeAt(resubscribedAt);
