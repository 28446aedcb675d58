import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { judge, struggleAfter } from '../../domain/struggle.js';
import { defaultGraceMs, parseSubscriptionInput, type SubscriptionInput } from '../../domain/subscription/input.js';
import {
  attentionOf,
  currentGeneration,
  openGeneration,
  openSubscription,
  requestedGeneration,
  type SubscribingOutcome,
  type SubscriptionState,
  unclearPauseMs,
  withoutEnded,
  withStillRegistered,
  withSubscriber,
  withUnclearOutcome,
  withUnclearRequest,
} from '../../domain/subscription/state.js';
import {
  describeSubscription,
  type SubscriptionEnd,
  toSubscriptionMemo,
  toSubscriptionStatus,
} from '../../domain/subscription/status.js';
import { type SubscriptionMemo, subscriptionMemoField } from '../../domain/subscription/subscription.js';
import { defaultMaxEvents, isHistoryLong, refuseBadInput } from '../run-kit.js';
import { rideAccountKey, rideAttentionKey, writeAttributes } from '../search-attributes.js';
import {
  askForAddress,
  isAddressWanted,
  listenToSubscription,
  openSubscriptionInbox,
  type SubscriptionHolder,
  type SubscriptionInbox,
} from './inbox.js';
import { isResubscriptionDue, removeSubscriber, requestSubscriber, rest, withCounts } from './service.js';

/** What a run hands to the next one when it continues as new; tests set it too. Plain JSON. */
export interface SubscriptionProgress {
  /** The run continues as new at the server's hint, or after so many events; 4,000 by default. */
  maxEvents?: number;
  state?: SubscriptionState;
}

interface Subscribing extends SubscriptionHolder {
  readonly input: SubscriptionInput;
  readonly inbox: SubscriptionInbox;
  readonly maxEvents: number;
  /** The address under way answers all requests up to this number. */
  serves: number;
  /** The ingress refuses its deliveries already. */
  isClosing: boolean;
}

/**
 * Keeps one subscription until a caller ends it: one address is in force, and the ingress accepts old ones for a grace. The run publishes an
 * address before the service delivers to it. Fails with `InvalidInput` only.
 */
export async function subscription(
  input: SubscriptionInput,
  progress?: SubscriptionProgress,
): Promise<SubscriptionEnd> {
  const run = open(input, progress);
  listenToSubscription(run, run.inbox, run.input.graceMs);
  try {
    while (!isOver(run) && !(await mayContinueAsNew(run))) {
      await dropEnded(run);
      await (isSubscribed(run) ? keep(run) : subscribe(run));
    }
  } catch (error) {
    // After an end the ingress must refuse its deliveries. Any other error is a bug: Temporal repeats the task, and nothing is touched.
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => close(run, 'cancelled'));
    else if (error instanceof ApplicationFailure) await CancellationScope.nonCancellable(() => close(run, 'failed'));
    throw error;
  }
  if (!isOver(run)) return await goOn(run);
  return await CancellationScope.nonCancellable(() => close(run, run.inbox.endReason ?? ''));
}

const isOver = ({ inbox }: Subscribing): boolean => inbox.endReason !== null;

function open(given: SubscriptionInput, progress: SubscriptionProgress = {}): Subscribing {
  const input = refuseBadInput(() => parseSubscriptionInput(given));
  return {
    input,
    inbox: openSubscriptionInbox(),
    state: progress.state ?? openSubscription(input),
    end: null,
    maxEvents: progress.maxEvents ?? defaultMaxEvents,
    serves: 0,
    isClosing: false,
  };
}

const isSubscribed = ({ state, inbox }: Subscribing): boolean =>
  currentGeneration(state) !== undefined && requestedGeneration(state) === undefined && !isAddressWanted(inbox);

/** Waits for the answer of the service, or until a caller wants another address. */
async function subscribe(run: Subscribing): Promise<void> {
  const { inbox } = run;
  const isOutdated = () => inbox.asked > run.serves || inbox.endReason !== null;
  if (isOutdated()) run.state = withUnclearOutcome(run.state);
  if (!requestedGeneration(run.state)) run.state = openGeneration(run.state, Date.now());
  run.serves = inbox.asked;
  showSubscription(run.state, false);
  const requested = requestedGeneration(run.state);
  if (!requested || !(await hasWaited(run, isOutdated))) return;
  run.state = { ...run.state, requests: run.state.requests + 1 };
  await record(run, await requestSubscriber(run.state, requested, isOutdated), isOutdated);
  showSubscription(run.state, false);
}

/** Waits until the last failed request is long enough ago, and shows trouble that lasts. False: `isOutdated` became true first. */
async function hasWaited(run: Subscribing, isOutdated: () => boolean): Promise<boolean> {
  for (;;) {
    const { struggle } = run.state;
    const verdict = struggle && judge(struggle, attentionOf(run.state)?.code ?? null, Date.now());
    if (!struggle || !verdict || verdict.act === 'look') return true;
    if (verdict.act === 'wait') {
      if (await condition(isOutdated, verdict.waitMs)) return false;
      continue;
    }
    const { code, message, since } = struggle;
    run.state = { ...run.state, trouble: { code, message, since } };
    showSubscription(run.state, false);
  }
}

async function record(run: Subscribing, outcome: SubscribingOutcome, isOutdated: () => boolean): Promise<void> {
  const { inbox, state } = run;
  switch (outcome.kind) {
    case 'trouble': {
      const known = { shown: attentionOf(state)?.code ?? null, now: Date.now(), random: Math.random() };
      run.state = { ...state, struggle: struggleAfter(state.struggle, outcome.trouble, known) };
      return;
    }
    case 'unclear':
      run.state = withUnclearRequest(state, outcome.message, Date.now());
      showSubscription(run.state, false);
      await condition(isOutdated, unclearPauseMs(run.state));
      return;
    case 'registered': {
      const graceMs = inbox.graceMs ?? run.input.graceMs ?? defaultGraceMs;
      inbox.served = run.serves;
      if (!isAddressWanted(inbox)) inbox.graceMs = undefined;
      run.state = withSubscriber(state, outcome, { graceMs, now: Date.now() });
    }
  }
}

/** Rests with a subscription in force. */
async function keep(run: Subscribing): Promise<void> {
  const { inbox, input } = run;
  const isAsked = (): boolean => isAddressWanted(inbox) || inbox.endReason !== null || inbox.counted.length > 0;
  // A run that was reset may have forgotten the address to which the service delivers by now.
  if (await rest(run.state, input, isAsked)) askForAddress(inbox, input.graceMs);
  run.state = withCounts(run.state, input, inbox.counted.splice(0));
  if (isResubscriptionDue(run.state, input)) {
    run.state = { ...run.state, resubscribedAt: new Date().toISOString() };
    askForAddress(inbox, input.graceMs);
  }
  showSubscription(run.state, false);
}

/** Ends the addresses whose grace is over, and removes their subscribers. */
async function dropEnded(run: Subscribing): Promise<void> {
  const { state, ended } = withoutEnded(run.state, Date.now());
  if (ended.length === 0) return;
  run.state = state;
  showSubscription(run.state, false);
  const outcomes = await Promise.all(ended.map((one) => removeSubscriber(state, one)));
  const left = outcomes.flatMap(({ kind, subscriberId }) =>
    kind === 'registered' && subscriberId ? [subscriberId] : [],
  );
  run.state = withStillRegistered(run.state, left);
  showSubscription(run.state, false);
}

async function close(run: Subscribing, reason: string): Promise<SubscriptionEnd> {
  run.isClosing = true;
  showSubscription(run.state, true);
  const { account, eventType, generations } = run.state;
  const outcomes = await Promise.all(generations.map((one) => removeSubscriber(run.state, one)));
  const idsOf = (kind: string) =>
    outcomes.flatMap((one) => (one.kind === kind && one.subscriberId ? [one.subscriberId] : []));
  run.state = withStillRegistered({ ...run.state, generations: [], trouble: null, silence: null }, idsOf('registered'));
  run.end = {
    account,
    eventType,
    reason,
    endedAt: new Date().toISOString(),
    removed: idsOf('removed'),
    stillRegistered: run.state.stillRegistered,
    unclear: outcomes.filter(({ kind }) => kind === 'unknown').length,
  };
  showSubscription(run.state, true);
  await condition(allHandlersFinished);
  return run.end;
}

/** Is the run long, and has it answered all callers? */
async function mayContinueAsNew(run: Subscribing): Promise<boolean> {
  if (!isHistoryLong(run.maxEvents)) return false;
  const isAsked = () => isOver(run) || isAddressWanted(run.inbox);
  await condition(() => isAsked() || allHandlersFinished());
  return !isAsked();
}

/** The next run gets the memo too, since the ingress reads it at any time. */
async function goOn({ input, state, maxEvents }: Subscribing): Promise<never> {
  const memo = memoOf(state, false);
  const next = makeContinueAsNewFunc<typeof subscription>({ memo });
  return await next({ ...input, publicUrl: state.publicUrl }, { maxEvents, state });
}

const nothing: SubscriptionMemo = { accepted: [] };

const memoOf = (state: SubscriptionState, isEnded: boolean): Record<string, unknown> => ({
  [subscriptionMemoField]: isEnded ? nothing : toSubscriptionMemo(state),
});

/** Shows the subscription to the ingress and to people. Writes only changes, since each write is an event. */
function showSubscription(state: SubscriptionState, isEnded: boolean): void {
  const { memo: published = {} } = workflowInfo();
  const isNew = ([field, value]: [string, unknown]): boolean =>
    JSON.stringify(published[field]) !== JSON.stringify(value);
  const changed = Object.entries(memoOf(state, isEnded)).filter(isNew);
  if (changed.length > 0) upsertMemo(Object.fromEntries(changed));
  setCurrentDetails(describeSubscription(toSubscriptionStatus(state, isEnded)));
  writeAttributes([
    { key: rideAccountKey, value: state.account },
    { key: rideAttentionKey, value: isEnded ? null : (attentionOf(state)?.code ?? null) },
  ]);
}
