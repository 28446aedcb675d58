import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { judge, streakAfter } from '../../domain/failure-streak.js';
import { type ProofCounts, readProofCounts, withProofs } from '../../domain/subscription/proofs.js';
import {
  attentionOf,
  type ChangeCounts,
  currentGeneration,
  isResubscriptionDue,
  openGeneration,
  openSubscription,
  readChangeCounts,
  requestedGeneration,
  type SubscribingOutcome,
  type SubscriptionState,
  unclearPauseMs,
  withCounts,
  withLeftovers,
  withoutEnded,
  withSubscriber,
  withUnclearOutcome,
  withUnclearRequest,
  withUnverified,
} from '../../domain/subscription/state.js';
import {
  describeSubscription,
  type SubscriptionEnd,
  type SubscriptionStatus,
  toSubscriptionMemo,
  toSubscriptionStatus,
} from '../../domain/subscription/status.js';
import {
  defaultGraceMs,
  parseEndInput,
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
  type SubscriptionInput,
  type SubscriptionMemo,
  subscriptionMemoField,
} from '../../domain/subscription/subscription.js';
import { listenToClaims } from '../business-call.js';
import {
  changesCountedSignal,
  endSubscriptionUpdate,
  moveSubscriptionUpdate,
  rotateSubscriptionUpdate,
  subscriptionStatusQuery,
} from '../messages.js';
import { continueRun, defaultMaxEvents, isTimeToContinue, onUpdate, refuseBadInput, setHandler } from '../run-kit.js';
import { rideAccountKey, rideAttentionKey, writeAttributes } from '../search-attributes.js';
import { settle } from '../settling.js';
import { removeSubscriber, requestSubscriber, rest } from './service.js';

/** What a run hands to the next one when it continues as new; tests set it too. Plain JSON. */
export interface SubscriptionProgress {
  /** The run continues as new at the server's hint, or after so many events; 4,000 by default. */
  maxEvents?: number;
  state?: SubscriptionState;
}

/** The run. Handlers write what callers ask for and wait; the main body decides. */
interface Subscribing {
  readonly input: SubscriptionInput;
  readonly maxEvents: number;
  state: SubscriptionState;
  /** How many new addresses callers have asked for; one new address serves all of them. */
  asked: number;
  served: number;
  /** The address under way answers all requests up to this number. */
  serves: number;
  /** The shortest grace that waiting callers named; undefined: that of the subscription. */
  graceMs: number | undefined;
  /** What the watch of the account has counted since the run last judged. */
  counted: ChangeCounts[];
  /** What ingresses have counted since then. */
  proofs: ProofCounts[];
  endReason: string | null;
  /** The ingress refuses its deliveries already. */
  isClosing: boolean;
  /** Set when the run has ended the subscription and answers the callers of `endSubscription`. */
  end: SubscriptionEnd | null;
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
  listen(run);
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
  return await CancellationScope.nonCancellable(() => close(run, run.endReason ?? ''));
}

const isOver = ({ endReason }: Subscribing): boolean => endReason !== null;

function open(given: SubscriptionInput, progress: SubscriptionProgress = {}): Subscribing {
  const input = refuseBadInput(() => parseSubscriptionInput(given));
  return {
    input,
    maxEvents: progress.maxEvents ?? defaultMaxEvents,
    state: progress.state ?? openSubscription(input),
    ...{ asked: 0, served: 0, serves: 0, graceMs: undefined, counted: [], proofs: [] },
    ...{ endReason: null, isClosing: false, end: null },
  };
}

/** Registers all handlers. Must run before the first await of the run. */
function listen(run: Subscribing): void {
  listenToClaims();
  const status = (): SubscriptionStatus => toSubscriptionStatus(run.state, isOver(run) || run.isClosing);
  const newAddress = async (graceMs: number | undefined): Promise<SubscriptionStatus> => {
    const mine = askForAddress(run, graceMs);
    await condition(() => run.served >= mine || run.end !== null);
    if (run.served < mine) throw ended();
    return status();
  };
  const unlessEnding =
    <T>(parse: (given: unknown) => T) =>
    (given: unknown): T => {
      if (isOver(run)) throw ended();
      return parse(given);
    };
  setHandler(subscriptionStatusQuery, status);
  setHandler(changesCountedSignal, (given) => {
    run.counted.push(...[readChangeCounts(given)].filter((counts) => counts !== null));
    // A worker of 0.2.0 ignored this form, and rested on.
    const proofs = readProofCounts(given);
    if (proofs !== null && patched('proofs-counted')) run.proofs.push(proofs);
  });
  onUpdate(rotateSubscriptionUpdate, unlessEnding(parseRotateInput), ({ graceMs }) => newAddress(graceMs));
  onUpdate(moveSubscriptionUpdate, unlessEnding(parseMoveInput), ({ publicUrl, graceMs }) => {
    run.state = { ...run.state, publicUrl };
    return newAddress(graceMs);
  });
  onUpdate(endSubscriptionUpdate, parseEndInput, async ({ reason }) => {
    run.endReason ??= reason;
    await condition(() => run.end !== null);
    return run.end as SubscriptionEnd;
  });
}

const ended = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('The subscription ends; create it again to subscribe.', 'SubscriptionEnded');

/** Asks for a new address; returns the number of this request. */
function askForAddress(run: Subscribing, graceMs = run.input.graceMs ?? defaultGraceMs): number {
  run.graceMs = Math.min(run.graceMs ?? graceMs, graceMs);
  run.asked += 1;
  return run.asked;
}

/** Does a caller wait for a new address? */
const isAddressWanted = ({ asked, served }: Subscribing): boolean => asked > served;

const isSubscribed = (run: Subscribing): boolean =>
  currentGeneration(run.state) !== undefined && requestedGeneration(run.state) === undefined && !isAddressWanted(run);

/** Waits for the answer of the service, or until a caller wants another address. */
async function subscribe(run: Subscribing): Promise<void> {
  const isOutdated = () => run.asked > run.serves || isOver(run);
  judgeProofs(run);
  if (isOutdated()) run.state = withUnclearOutcome(run.state);
  if (!requestedGeneration(run.state)) run.state = openGeneration(run.state, Date.now());
  run.serves = run.asked;
  show(run);
  const requested = requestedGeneration(run.state);
  if (!requested || !(await hasWaited(run, isOutdated))) return;
  run.state = { ...run.state, requests: run.state.requests + 1 };
  await record(run, await requestSubscriber(run.state, requested, isOutdated), isOutdated);
  show(run);
}

/** Waits until the last failed request is long enough ago, and shows trouble that lasts. False: `isOutdated` became true first. */
async function hasWaited(run: Subscribing, isOutdated: () => boolean): Promise<boolean> {
  for (;;) {
    const { streak } = run.state;
    const verdict = streak && judge(streak, attentionOf(run.state)?.code ?? null, Date.now());
    if (!streak || !verdict || verdict.act === 'look') return true;
    if (verdict.act === 'wait') {
      if (await condition(isOutdated, verdict.waitMs)) return false;
      continue;
    }
    const { code, message, since } = streak;
    run.state = { ...run.state, trouble: { code, message, since } };
    show(run);
  }
}

async function record(run: Subscribing, outcome: SubscribingOutcome, isOutdated: () => boolean): Promise<void> {
  const { state } = run;
  switch (outcome.kind) {
    case 'trouble': {
      const known = { shown: attentionOf(state)?.code ?? null, now: Date.now(), random: Math.random() };
      // Before a reset another activity may have claimed this number, and subscribed this address. Then the next
      // request must find that claim.
      const keepsNumber = outcome.isUnclaimed === true && patched('unclaimed-requests-keep-their-number');
      const requests = keepsNumber ? state.requests - 1 : state.requests;
      run.state = { ...state, requests, streak: streakAfter(state.streak, outcome.trouble, known) };
      return;
    }
    case 'unclear':
      run.state = withUnclearRequest(state, outcome.message, Date.now());
      show(run);
      await condition(isOutdated, unclearPauseMs(run.state));
      return;
    case 'registered': {
      const graceMs = run.graceMs ?? run.input.graceMs ?? defaultGraceMs;
      run.served = run.serves;
      if (!isAddressWanted(run)) run.graceMs = undefined;
      run.state = withSubscriber(state, outcome, { graceMs, now: Date.now() });
    }
  }
}

/** Rests with a subscription in force. */
async function keep(run: Subscribing): Promise<void> {
  const isAsked = (): boolean => isAddressWanted(run) || isOver(run) || run.counted.length + run.proofs.length > 0;
  // A run that was reset may have forgotten the address to which the service delivers by now.
  if (await rest(run.state, run.input, isAsked)) askForAddress(run);
  run.state = withCounts(run.state, run.input, run.counted.splice(0), Date.now());
  judgeProofs(run);
  if (isResubscriptionDue(run.state, run.input, Date.now())) {
    run.state = { ...run.state, resubscribedAt: new Date().toISOString() };
    askForAddress(run);
  }
  show(run);
}

function judgeProofs(run: Subscribing): void {
  run.state = withProofs(run.state, run.input, run.proofs.splice(0), Date.now());
}

/** Ends the addresses whose grace is over, and removes their subscribers. */
async function dropEnded(run: Subscribing): Promise<void> {
  const { state, ended } = withoutEnded(run.state, Date.now());
  if (ended.length === 0) return;
  run.state = state;
  show(run);
  const removals = await Promise.all(ended.map((one) => removeSubscriber(state, one)));
  run.state = withLeftovers(run.state, removals);
  show(run);
}

async function close(run: Subscribing, reason: string): Promise<SubscriptionEnd> {
  run.isClosing = true;
  show(run);
  const { account, eventType, generations } = run.state;
  const removals = await Promise.all(generations.map((one) => removeSubscriber(run.state, one)));
  const left = { ...withUnverified(run.state, null), generations: [], trouble: null, silence: null };
  run.state = withLeftovers(left, removals);
  run.end = {
    account,
    eventType,
    reason,
    endedAt: new Date().toISOString(),
    removed: removals.flatMap(({ kind, subscriberId }) => (kind === 'removed' && subscriberId ? [subscriberId] : [])),
    stillRegistered: run.state.stillRegistered,
    unclear: run.state.unclearEnded ?? 0,
  };
  show(run);
  await condition(allHandlersFinished);
  return run.end;
}

/** Is it time to continue, and has the run answered all callers? */
async function mayContinueAsNew(run: Subscribing): Promise<boolean> {
  if (!isTimeToContinue(run.maxEvents)) return false;
  await settle();
  const isAsked = () => isOver(run) || isAddressWanted(run);
  await condition(() => isAsked() || allHandlersFinished());
  return !isAsked();
}

/** The next run gets the memo too, since the ingress reads it at any time. */
async function goOn(run: Subscribing): Promise<never> {
  judgeProofs(run);
  const { input, state, maxEvents } = run;
  const memo = { [subscriptionMemoField]: toSubscriptionMemo(state, input) };
  return await continueRun<typeof subscription>(
    [
      { ...input, publicUrl: state.publicUrl },
      { maxEvents, state },
    ],
    memo,
  );
}

/** Shows the subscription to the ingress and to people. Writes only changes, since each write is an event. */
function show({ state, input, isClosing: isEnded }: Subscribing): void {
  const memo: SubscriptionMemo = isEnded ? { accepted: [] } : toSubscriptionMemo(state, input);
  const published = workflowInfo().memo?.[subscriptionMemoField];
  if (JSON.stringify(published) !== JSON.stringify(memo)) upsertMemo({ [subscriptionMemoField]: memo });
  setCurrentDetails(describeSubscription(toSubscriptionStatus(state, isEnded)));
  writeAttributes([
    { key: rideAccountKey, value: state.account },
    { key: rideAttentionKey, value: isEnded ? null : (attentionOf(state)?.code ?? null) },
  ]);
}
