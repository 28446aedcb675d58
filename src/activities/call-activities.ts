import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { parseCallBody } from '../contracts/call-bodies.js';
import { withDuplicatesAdded } from '../contracts/reference-codes-reply.js';
import type { Account } from '../domain/account.js';
import {
  type BusinessCallResult,
  type BusinessOperation,
  isCallFailureType,
  isChanging,
  type ServiceCall,
} from '../domain/business-call.js';
import type { AccountName } from '../domain/keys.js';
import { RideApiError } from '../ride-api/errors.js';
import { isOutcomeUnclear } from '../ride-api/outcome.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { type CallTrouble, isLastWord, toCallTrouble, toDoubt, toFailure } from './call-failure.js';

/** What the activity works with. */
export interface CallActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  rideApi: Pick<RideApi, 'callOperation' | 'readEffect' | 'operationScope' | 'knowsRepeats'>;
  call: AuthorizedCall;
  now?: () => number;
}

/** The activities that carry out calls for callers, as workflows see them. */
export type CallActivities = ReturnType<typeof createCallActivities>;

/** What one attempt leaves for the next, in the heartbeat details: they add no event. */
interface Progress {
  /** Which attempt left it. */
  attempt: number;
  /** The call may have been carried out, and nothing has told yet. */
  inDoubt: boolean;
  hadDoubt: boolean;
  /** How the service refused it after a doubt; it stands unless the order shows that the call was carried out before. */
  refusal: CallTrouble | null;
}

const noProgress: Omit<Progress, 'attempt'> = { inDoubt: false, hadDoubt: false, refusal: null };

/** Whose effect can be read in the order (R13). */
const showsInOrder = (operation: BusinessOperation): boolean =>
  operation === 'cancelOrder' || operation === 'updateOrder';

/** 503 says "not taken", but something on the way may say it after the service did take the call; nothing here is worth
 *  that risk. */
const isUnclear = (error: unknown): boolean =>
  isOutcomeUnclear(error) || (error instanceof RideApiError && error.code === 'UPSTREAM_FAILED');

/**
 * Makes the activity. One attempt is one request; repeating is left to Temporal's retry, which writes no history. A changing
 * call whose outcome is unclear is repeated only where that cannot make a second effect (R11 to R14).
 */
export function createCallActivities({
  account: accountOf,
  rideApi,
  call: authorized,
  now = Date.now,
}: CallActivityPorts) {
  async function send(account: Account, call: ServiceCall, before: Progress, progress: Progress) {
    const scope = rideApi.operationScope(account, call.operation);
    const signal = isChanging(call.operation) ? undefined : cancellationSignal(); // no doubt of our own making
    const result = await authorized(account, scope, call.operation, async (token) => {
      mark(progress, isChanging(call.operation));
      return await rideApi.callOperation(account, call, token, signal).catch((error: unknown) => {
        progress.inDoubt = before.inDoubt || (isChanging(call.operation) && isUnclear(error));
        throw error;
      });
    });
    return before.inDoubt && call.operation === 'addReferenceCode'
      ? { ...result, body: withDuplicatesAdded(result.body, call.body) }
      : result;
  }

  /** The order tells what became of the call. Where that was nothing, the next attempt sends it again. */
  async function clarify(account: Account, call: ServiceCall, before: Progress, progress: Progress) {
    const scope = rideApi.operationScope(account, 'orderDetails');
    const done = await authorized(account, scope, 'readOrder', (token) => rideApi.readEffect(account, call, token));
    if (done) return done;
    progress.inDoubt = false;
    throw toFailure(before.refusal ?? again(call, 'the order shows no effect of it as yet'));
  }

  function judge(error: unknown, call: ServiceCall, before: Progress, progress: Progress): unknown {
    if (error instanceof ApplicationFailure && isCallFailureType(error.type)) return error;
    const trouble =
      toCallTrouble(error, call, { now: now(), backOffMs: ownBackOffMs() }) ??
      (progress.inDoubt ? again(call, 'an attempt broke off') : null);
    if (!trouble) return error;
    if (!progress.inDoubt) {
      if (!trouble.isFinal || !before.hadDoubt || !showsInOrder(call.operation)) return toFailure(trouble);
      // The refusal may come from the effect that the call had the first time.
      Object.assign(progress, { inDoubt: true, refusal: trouble });
      return toFailure(again(call, 'refused after an unclear attempt'));
    }
    const isUnrepeatable = call.operation === 'createOrder' && !rideApi.knowsRepeats('createOrder');
    return toFailure(toDoubt(trouble, isUnrepeatable || isLastWord(error)));
  }

  async function attempt(call: ServiceCall, before: Progress, progress: Progress): Promise<BusinessCallResult> {
    const account = accountOf(call.account);
    const body = parseCallBody(call.operation, call.body);
    const checked: ServiceCall = { ...call, body };
    rideApi.operationScope(account, call.operation); // refuses what this account cannot ask for
    if (before.inDoubt && showsInOrder(call.operation)) return await clarify(account, checked, before, progress);
    if (before.inDoubt && call.operation === 'createOrder' && !rideApi.knowsRepeats(call.operation)) {
      throw toFailure(toDoubt(again(call, 'a worker stopped during the request'), true));
    }
    return await send(account, checked, before, progress);
  }

  return {
    /** One call for a caller. Its failures have the types of `callFailureTypes`; others are repeated. */
    async callService(call: ServiceCall): Promise<BusinessCallResult> {
      const before = progressBefore(call.operation);
      const progress = { ...before };
      try {
        return await attempt(call, before, progress);
      } catch (error) {
        const failure = judge(error, call, before, progress);
        mark(progress, progress.inDoubt);
        throw failure;
      }
    },
  };
}

/**
 * An attempt that comes to its end leaves word of it; one that left none was cut off, perhaps in the middle of a request. What
 * is there may be of an attempt before that one: Temporal keeps it.
 */
function progressBefore(operation: BusinessOperation): Progress {
  const { attempt, heartbeatDetails } = activityInfo();
  if (attempt === 1 || !isChanging(operation)) return { ...noProgress, attempt };
  const left = heartbeatDetails as Progress | null | undefined;
  if (left?.attempt === attempt - 1) return { ...left, attempt };
  return { attempt, inDoubt: true, hadDoubt: true, refusal: left?.refusal ?? null };
}

function mark(progress: Progress, inDoubt: boolean): void {
  progress.inDoubt = inDoubt;
  progress.hadDoubt ||= inDoubt;
  heartbeat({ ...progress });
}

/** The pause that the retry policy of the activity makes where nothing else is said. */
function ownBackOffMs(): number {
  const { attempt, retryPolicy } = activityInfo();
  const { initialInterval = 1_000, backoffCoefficient = 2, maximumInterval = 30_000 } = retryPolicy ?? {};
  return Math.min(Number(initialInterval) * backoffCoefficient ** (attempt - 1), Number(maximumInterval));
}

const again = ({ operation, account }: ServiceCall, why: string): CallTrouble => ({
  type: 'Unavailable',
  message: `${operation} of account ${account}: ${why}`,
  details: [],
  isFinal: false,
  afterMs: 1_000,
});
