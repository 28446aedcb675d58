import { condition, proxyActivities, sleep } from '@temporalio/workflow';
import type { SilenceActivities, SilenceVerdict } from '../../activities/subscription.js';
import { defaultSilenceWatch, type SilenceWatch, type SubscriptionInput } from '../../domain/subscription/input.js';
import { resubscribeAt, silenceAttention } from '../../domain/subscription/silence.js';
import { currentGeneration, nextEnd, type SubscriptionState } from '../../domain/subscription/state.js';
import { firstOf } from '../run-kit.js';

/** What ended a rest: silence that began or ended, or something that the main body finds by itself. */
export type Waking = SilenceVerdict | undefined;

/** Waits, with a subscription in force, until an address ends, deliveries fall silent or come again, or `interrupted`. */
export async function rest(
  state: SubscriptionState,
  input: SubscriptionInput,
  interrupted: () => boolean,
): Promise<Waking> {
  return await firstOf<Waking>(() => [
    condition(interrupted).then(() => undefined),
    ...untilNextEnd(state),
    ...watchSilence(state, input),
  ]);
}

function untilNextEnd(state: SubscriptionState): Promise<undefined>[] {
  const end = nextEnd(state);
  if (end === undefined) return [];
  // A timer of 0 would be refused.
  const waiting = sleep(Math.max(end - Date.now(), 1), { summary: 'Refuse the old address' });
  return [waiting.then(() => undefined)];
}

const watchOf = ({ silence }: SubscriptionInput): SilenceWatch => ({ ...defaultSilenceWatch, ...silence });

function watchSilence(state: SubscriptionState, input: SubscriptionInput): Promise<SilenceVerdict>[] {
  const current = currentGeneration(state);
  // Nothing says how often reports should come.
  if (!current?.registeredAt || state.eventType !== 'status_changed') return [];
  const { watchSilence: watch } = proxyActivities<SilenceActivities>({
    startToCloseTimeout: 30_000,
    // Speaks only while Temporal's visibility does not answer.
    retry: { initialInterval: 10_000, backoffCoefficient: 2, maximumInterval: 600_000 },
    cancellationType: 'TRY_CANCEL',
    summary: 'Watch whether deliveries come',
  });
  const { everyMs, minOrders } = watchOf(input);
  const tellAgainAt = input.resubscribe ? new Date(resubscribeAt(state.resubscribedAt)).toISOString() : null;
  const { account, silence } = state;
  return [
    watch({ account, everyMs, minOrders, registeredAt: current.registeredAt, isSilent: silence !== null, tellAgainAt }),
  ];
}

/** The state that knows whether deliveries come. */
export function withVerdict(
  state: SubscriptionState,
  input: SubscriptionInput,
  { isSilent, counts }: SilenceVerdict,
): SubscriptionState {
  const since = state.silence?.since ?? new Date().toISOString();
  return { ...state, silence: isSilent ? silenceAttention(counts, watchOf(input), since) : null };
}

/** Is it time to subscribe anew because of silence? */
export const isResubscriptionDue = (
  { silence, resubscribedAt }: SubscriptionState,
  input: SubscriptionInput,
): boolean => input.resubscribe === true && silence !== null && Date.now() >= resubscribeAt(resubscribedAt);
