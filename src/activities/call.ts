import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { parseCallBody } from '../contracts/call-bodies.js';
import { withDuplicatesAdded } from '../contracts/call-reply.js';
import type { Account } from '../domain/account.js';
import {
  type AttemptOutcome,
  afterAttempt,
  type BusinessCallResult,
  type BusinessOperation,
  type CallDoubt,
  type CallFailureType,
  type CallTrouble,
  isChanging,
  noDoubt,
  passingTrouble,
  type ServiceCall,
  showsInOrder,
  withDoubt,
} from '../domain/call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { utcText } from '../domain/struggle.js';
import { isOutcomeUnclear, RideApiError, type RideApiErrorCode } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { SealingError } from '../sealing/sealer.js';
import { type AuthorizedCall, QuietTime } from './authorized-call.js';
import { plainFailure, toDelay } from './failures.js';
import { sealingRemedy } from './looking.js';
import { TokenUnavailable } from './token-source.js';

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
interface Progress extends CallDoubt {
  /** Which attempt left it. */
  attempt: number;
}

/** 503 says "not taken", but something on the way may say it after the service did take the call; nothing here is worth
 *  that risk. */
const isUnclear = (error: unknown): boolean =>
  isOutcomeUnclear(error) || (error instanceof RideApiError && error.code === 'UPSTREAM_FAILED');

/** How one attempt of a call ended. */
type AttemptEnd = { kind: 'done'; result: BusinessCallResult } | (AttemptOutcome & { error?: unknown });

/**
 * Makes the activity. One attempt is one request; repeating is left to Temporal's retry, which writes no history. A changing
 * call whose outcome is unclear is repeated only where that cannot make a second effect.
 */
export function createCallActivities({
  account: accountOf,
  rideApi,
  call: authorized,
  now = Date.now,
}: CallActivityPorts) {
  /** `tellSent` learns how each request ends. */
  async function send(
    account: Account,
    call: ServiceCall,
    before: CallDoubt,
    tellSent: (sent: 'clear' | 'unclear') => void,
  ): Promise<BusinessCallResult> {
    const scope = rideApi.operationScope(account, call.operation);
    const signal = isChanging(call.operation) ? undefined : cancellationSignal(); // no doubt of our own making
    const result = await authorized(account, scope, call.operation, async (token) => {
      leave(isChanging(call.operation) ? withDoubt(before) : before);
      return await rideApi.callOperation(account, call, token, signal).catch((error: unknown) => {
        tellSent(isUnclear(error) ? 'unclear' : 'clear');
        throw error;
      });
    });
    return before.inDoubt && call.operation === 'addReferenceCode'
      ? { ...result, body: withDuplicatesAdded(result.body, call.body) }
      : result;
  }

  /** The order tells what became of the call. Where that was nothing, the next attempt sends it again. */
  async function clarify(account: Account, call: ServiceCall): Promise<AttemptEnd> {
    const scope = rideApi.operationScope(account, 'orderDetails');
    const result = await authorized(account, scope, 'readOrder', (token) => rideApi.readEffect(account, call, token));
    return result ? { kind: 'done', result } : { kind: 'noEffect' };
  }

  async function attempt(given: ServiceCall, before: CallDoubt): Promise<AttemptEnd> {
    const { operation } = given;
    const isUnrepeatable = operation === 'createOrder' && !rideApi.knowsRepeats(operation);
    let sent: 'clear' | 'unclear' | null = null;
    try {
      const account = accountOf(given.account);
      const call: ServiceCall = { ...given, body: parseCallBody(operation, given.body) };
      rideApi.operationScope(account, operation); // refuses what this account cannot ask for
      if (before.inDoubt && showsInOrder(operation)) return await clarify(account, call);
      if (before.inDoubt && isUnrepeatable) {
        const trouble = passingTrouble(call, 'a worker stopped during the request');
        return { kind: 'failed', sent, trouble, isLast: true };
      }
      const tellSent = (how: 'clear' | 'unclear'): void => {
        sent = how;
      };
      return { kind: 'done', result: await send(account, call, before, tellSent) };
    } catch (error) {
      const trouble = toCallTrouble(error, given, { now: now(), backOffMs: ownBackOffMs() }) ?? null;
      return { kind: 'failed', sent, trouble, isLast: isUnrepeatable || isLastWord(error), error };
    }
  }

  return {
    /** One call for a caller. Its failures have the types of `callFailureTypes`; others are repeated. */
    async callService(call: ServiceCall): Promise<BusinessCallResult> {
      const before = doubtBefore(call.operation);
      const end = await attempt(call, before);
      if (end.kind === 'done') return end.result;
      const { left, trouble } = afterAttempt(call, before, end);
      leave(left);
      throw trouble ? toFailure(trouble) : end.error;
    },
  };
}

/**
 * An attempt that comes to its end leaves word of it; one that left none was cut off, perhaps in the middle of a request. What
 * is there may be of an attempt before that one: Temporal keeps it.
 */
function doubtBefore(operation: BusinessOperation): CallDoubt {
  const { attempt, heartbeatDetails } = activityInfo();
  if (attempt === 1 || !isChanging(operation)) return noDoubt;
  const { attempt: leftBy, ...left } = { ...noDoubt, ...(heartbeatDetails as Progress | null | undefined) };
  return leftBy === attempt - 1 ? left : withDoubt(left);
}

const leave = (left: CallDoubt): void => heartbeat({ ...left, attempt: activityInfo().attempt } satisfies Progress);

/** The pause that the retry policy of the activity makes where nothing else is said. */
function ownBackOffMs(): number {
  const { attempt, retryPolicy } = activityInfo();
  const { initialInterval = 1_000, backoffCoefficient = 2, maximumInterval = 30_000 } = retryPolicy ?? {};
  return Math.min(Number(initialInterval) * backoffCoefficient ** (attempt - 1), Number(maximumInterval));
}

const typeByRefusal: Partial<Record<RideApiErrorCode, CallFailureType>> = {
  TOKEN_REJECTED: 'CredentialsRejected',
  FORBIDDEN: 'Forbidden',
  ORDER_UNKNOWN: 'OrderNotFound',
};

const remedies: Record<'CredentialsRejected' | 'Forbidden' | 'OrderNotFound' | 'Refused', string> = {
  CredentialsRejected: 'Check base URL, token URL, client id and secret of the account',
  Forbidden: 'Check the business id and the permissions of the account',
  OrderNotFound: 'Check the order id, and that the order belongs to the account',
  Refused: 'The details hold what the service says; correct the request and use another key',
};

/** What a failed attempt means for the caller, had the call never been sent before. Undefined for errors that are not about
 *  the call: Temporal repeats those. */
export function toCallTrouble(
  error: unknown,
  { operation, account }: Pick<ServiceCall, 'operation' | 'account'>,
  { now, backOffMs }: { now: number; backOffMs: number },
): CallTrouble | undefined {
  const trouble = (type: CallFailureType, message: string, more: Partial<CallTrouble> = {}): CallTrouble => ({
    type,
    message: `${operation} of account ${account}: ${message}`,
    details: [],
    isFinal: true,
    ...more,
  });
  const passing = (message: string, afterMs?: number) => {
    const wait = afterMs === undefined ? '' : `. Nothing is sent until ${utcText(now + afterMs)}.`;
    return trouble('Unavailable', `${message}${wait}`, { isFinal: false, afterMs });
  };
  if (error instanceof InvalidInput) return trouble('InvalidInput', error.message);
  if (error instanceof RideApiError) {
    const { retryAfterMs: askedMs } = error;
    // A service that asks for a second each time gets no more requests than one that does not say.
    if (error.retryable) return passing(error.message, askedMs && Math.max(askedMs, backOffMs));
    const type = (typeByRefusal[error.code] ?? 'Refused') as keyof typeof remedies;
    return trouble(type, `${error.message}. ${remedies[type]}.`, { details: [saidBy(error)] });
  }
  if (error instanceof TokenUnavailable) {
    const afterMs = Math.max(error.retryAt - now, 1_000);
    return error.code === 'upstreamUnavailable'
      ? passing(error.message, afterMs)
      : trouble('CredentialsRejected', error.message, { afterMs });
  }
  if (error instanceof SealingError) return passing(`${error.message}. ${sealingRemedy}`);
  if (error instanceof QuietTime) return passing(error.message, error.leftMs);
  return error instanceof FaretrailError ? passing(error.message) : undefined;
}

/** Has the service said all that it will? An answer that is missing or makes no sense may be a better one next time. */
const isLastWord = (error: unknown): boolean => {
  if (!(error instanceof RideApiError)) return error instanceof InvalidInput;
  return !error.retryable && error.code !== 'TOKEN_REJECTED' && error.code !== 'UNEXPECTED_STATUS';
};

/** The failure of an attempt. */
const toFailure = ({ type, message, details, isFinal, afterMs }: CallTrouble): ApplicationFailure =>
  plainFailure({
    type,
    message,
    details,
    nonRetryable: isFinal,
    ...(afterMs === undefined ? {} : { nextRetryDelay: toDelay(afterMs) }),
  });

/** For the caller alone: details are data of the run, where an error text is shown to everybody. */
const saidBy = ({ status, upstreamCode, upstreamMessage }: RideApiError) => ({
  status,
  code: upstreamCode,
  message: upstreamMessage,
});
