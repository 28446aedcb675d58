import { ApplicationFailure } from '@temporalio/common';
import {
  type ActivityFailure,
  type ActivityOptions,
  patched,
  proxyActivities,
  setCurrentDetails,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallActivities } from '../activities/call.js';
import type { FollowingActivities } from '../activities/runs.js';
import type { Attention } from '../domain/attention.js';
import {
  type AttemptEnd,
  type AttemptFacts,
  afterAttempt,
  afterReset,
  attemptTerms,
  type BusinessCallInput,
  type BusinessCallResult,
  type CallAttempt,
  type CallFailure,
  type CallTrouble,
  callSummary,
  callWaits,
  effortMs,
  isChanging,
  isDoubtfulAfterReset,
  isOnlyRead,
  nothingSent,
  parseBusinessCallInput,
  passingTrouble,
  pauseAfterMs,
  quotedAttemptTerms,
  type SentBefore,
  type ServiceCall,
} from '../domain/call.js';
import { attentionLines } from '../domain/markdown.js';
import type { QuotedPrice } from '../domain/ride/quote.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { accountQueue, ownDelays, waitingOptions } from './activity-options.js';
import { type Claim, claimedSignal } from './messages.js';
import { lastFailure, refuseBadInput, requireWorkflowId, setHandler, whenFailed, whileLong } from './run-kit.js';
import { writeAccount, writeAttention } from './search-attributes.js';

/** One operation of the business interface. The workflow id holds the caller's key, so a repeated start has no second effect. Fails
 *  with a `CallFailureType`. */
export async function businessCall(rawInput: BusinessCallInput): Promise<BusinessCallResult> {
  const input = refuseBadInput(() => parseBusinessCallInput(rawInput));
  requireWorkflowId(businessCallId(input));
  listenToClaims();
  const { key: _, ...call } = input;
  writeAccount(call.account);
  // The workflow id is the same for every run and attempt, and holds no secret.
  return await performCall({ ...call, ...ownQuote(call), requestId: workflowInfo().workflowId }, showWaiting);
}

/** The birth of a caller's own quote is unknown, so it counts from the start of the first run. */
export const ownQuote = ({
  operation,
  body,
}: Pick<ServiceCall, 'operation' | 'body'>): Pick<ServiceCall, 'quoteGivenAt'> => {
  const isGiven = operation === 'createOrder' && typeof (body as Record<string, unknown>)?.quote_id === 'string';
  return isGiven ? { quoteGivenAt: workflowInfo().startTime.toISOString() } : {};
};

/** The activity that takes a claim reads it in the history. Must run before the first await of the run. */
export const listenToClaims = (onStore?: () => void): void =>
  setHandler(claimedSignal, (claim: Partial<Claim> | null) => {
    if (claim?.stores === true) onStore?.();
  });

/** Shows that the call takes long. */
function showWaiting(attention: Attention | null): void {
  setCurrentDetails(attentionLines(attention).join());
  writeAttention(attention);
}

/** What a call is told of while it goes on. */
interface CallCourse {
  /** The attempts that the chain of runs has made of this call; counts on. */
  attempts: { made: number };
  /** The id of the update by which a person asked for it. */
  updateId: string | null;
  /** An earlier call for the same order may have been carried out. */
  isInDoubt?: boolean;
  /** The worker has a store. */
  onStore?(): void;
  /** An attempt has got a quote. */
  onQuote?(quote: QuotedPrice): void;
}

/**
 * Makes one call and repeats it, within a bounded time, while that is safe and may help. Throws a cancellation, or an `ApplicationFailure`
 * that is not retryable and has a `CallFailureType`. Calls `show` if the call takes long, and with null at its end.
 */
export const performCall = (
  call: ServiceCall,
  show: (attention: Attention | null) => void,
  course: CallCourse = { attempts: { made: 0 }, updateId: null },
): Promise<BusinessCallResult> =>
  whileLong(
    (since) => show(since === null ? null : callWaits(call, since)),
    () => carryOut(call, course),
  );

/**
 * The run repeats what may change something, since only its history knows what was sent: an operator may reset an activity.
 * Temporal repeats what only reads.
 */
async function carryOut(
  call: ServiceCall,
  { attempts, updateId, isInDoubt = false, onStore, onQuote }: CallCourse,
): Promise<BusinessCallResult> {
  const endsAt = Date.now() + effortMs(call.operation);
  let sentQuote: Pick<AttemptFacts, 'quote'> = {};
  let before: SentBefore = { ...nothingSent, isInDoubt };
  for (let tried = 1; ; tried += 1) {
    attempts.made += 1;
    const { sent, isReadFirst } = before;
    const { stores, quote, ...end } = await attempt(
      { ...call, sent, isReadFirst, number: attempts.made, updateId, ...sentQuote },
      endsAt - Date.now(),
    );
    if (stores) onStore?.();
    if (quote) {
      sentQuote = { quote };
      onQuote?.({ price: quote.price, currency: quote.currency });
    }
    const pauseMs = 'trouble' in end ? Math.max(end.trouble.afterMs ?? 0, pauseAfterMs(tried)) : pauseAfterMs(tried);
    const isOver = Date.now() + pauseMs >= endsAt;
    const known = afterAttempt(call, before, end, isOver);
    const next =
      known.act === 'fail' && 'trouble' in end && (await isDoubtful(call, before, known.failure))
        ? afterReset(call, before, end.trouble, isOver)
        : known;
    if (next.act === 'return') return next.result;
    if (next.act === 'fail') throw failureOf(next.failure);
    before = next.before;
    await sleep(pauseMs, { summary: `Until ${call.operation} is tried again` });
  }
}

/** In 0.2.0 a run failed if a create was refused or not sent, even if an earlier one might have placed the order. */
export const doubtOutlivesRefusals = (): boolean => patched('doubt-outlives-refusals');

/** Was this run reset, so that another one may have sent the create? */
export function wasReset(): Promise<boolean> {
  const summary = 'Was another create sent before a reset';
  const options = { ...waitingOptions, cancellationType: 'TRY_CANCEL', summary } as const;
  return proxyActivities<Pick<FollowingActivities, 'wasRideReset'>>(options).wasRideReset();
}

/** Was the run reset, so that an earlier attempt may have taken effect in spite of this failure? */
async function isDoubtful(call: ServiceCall, before: SentBefore, failure: CallFailure): Promise<boolean> {
  if (!isDoubtfulAfterReset(call, before, failure)) return false;
  const asks =
    call.operation === 'createOrder' ? doubtOutlivesRefusals() : patched('changes-refused-after-a-reset-are-read');
  return asks && (await wasReset());
}

const failureOf = ({ type, message, details }: CallFailure): ApplicationFailure =>
  ApplicationFailure.create({ type, message, details, nonRetryable: true });

async function attempt(call: CallAttempt, leftMs: number): Promise<AttemptEnd & AttemptFacts> {
  const { attemptCall } = proxyActivities<CallActivities>({
    ...(call.withQuote ? quotedAttemptTerms : attemptTerms),
    ...repeatTerms(call, Math.max(leftMs, 1)),
    taskQueue: accountQueue(call.account),
    // The result of a change matters, and an attempt ends soon.
    cancellationType: isChanging(call.operation) ? 'WAIT_CANCELLATION_COMPLETED' : 'TRY_CANCEL',
    summary: call.isReadFirst ? `Was it carried out: ${callSummary(call)}` : callSummary(call),
  });
  return await whenFailed<AttemptEnd & AttemptFacts>(attemptCall(call), (failure) => endOf(call, failure));
}

const repeatTerms = (call: CallAttempt, leftMs: number): ActivityOptions =>
  isOnlyRead(call)
    ? { scheduleToCloseTimeout: leftMs, retry: ownDelays }
    : { scheduleToStartTimeout: leftMs, retry: { maximumAttempts: 1 } };

/** The end of an attempt that broke off. Of reads, the last one until their time was over. */
function endOf(call: CallAttempt, failure: ActivityFailure): AttemptEnd {
  const { cause, retryState } = failure;
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') {
    const why = 'no worker took it in time. Check that a worker of this account runs.';
    return { kind: 'failed', sent: 'no', trouble: passingTrouble(call, why) };
  }
  if (isOnlyRead(call) && retryState === 'TIMEOUT')
    return { kind: 'failed', sent: 'no', trouble: lastTrouble(call, lastFailure(failure)) };
  const trouble = passingTrouble(call, 'a worker stopped during the attempt');
  return { kind: 'failed', sent: isOnlyRead(call) ? 'no' : 'unknown', trouble };
}

function lastTrouble(call: CallAttempt, last: ApplicationFailure | undefined): CallTrouble {
  if (!last) return passingTrouble(call, 'no worker finished it in time. Check that a worker of this account runs.');
  const type = last.type === 'CredentialsRejected' ? last.type : 'Unavailable';
  return { type, message: last.message, details: last.details ?? [], isFinal: true };
}
