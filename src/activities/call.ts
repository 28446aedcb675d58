import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { parseCallBody } from '../contracts/call-bodies.js';
import { withDuplicatesAdded } from '../contracts/call-reply.js';
import type { Account } from '../domain/account.js';
import {
  type BusinessCallResult,
  type BusinessOperation,
  type CallFailureType,
  isCallFailureType,
  isChanging,
  type ServiceCall,
} from '../domain/call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { utcText } from '../domain/struggle.js';
import { isOutcomeUnclear, RideApiError, type RideApiErrorCode } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { SealingError } from '../sealing/sealer.js';
import type { AuthorizedCall } from './authorized-call.js';
import { plainFailure, toDelay } from './failures.js';
import { sealingRemedy } from './looking.js';
import { QuietTime } from './quiet-times.js';
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

/** A failure as one attempt hands it to the next. */
interface CallTrouble {
  type: CallFailureType;
  message: string;
  details: unknown[];
  /** Repeating the call cannot help. */
  isFinal: boolean;
  /** The wait that was asked for; undefined leaves it to the retry policy. */
  afterMs?: number | undefined;
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

type Asked = Pick<ServiceCall, 'operation' | 'account'>;

/** What a failed attempt means for the caller, had the call never been sent before. Undefined for errors that are not about
 *  the call: Temporal repeats those. */
export function toCallTrouble(
  error: unknown,
  { operation, account }: Asked,
  { now, backOffMs }: { now: number; backOffMs: number },
): CallTrouble | undefined {
  const trouble = (type: CallFailureType, message: string, more: Partial<CallTrouble> = {}): CallTrouble => ({
    type,
    message: `${operation} of account ${account}: ${message}`,
    details: [],
    isFinal: true,
    ...more,
  });
  const passing = (message: string, afterMs?: number) =>
    trouble(
      'Unavailable',
      afterMs === undefined ? message : `${message}. Nothing is sent until ${utcText(now + afterMs)}.`,
      {
        isFinal: false,
        afterMs,
      },
    );
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

/** The same when the call may have been carried out, in this attempt or before. `isLast`: no repeat can tell. */
function toDoubt(trouble: CallTrouble, isLast: boolean): CallTrouble {
  const remedy = 'Look at the service whether it was carried out before you ask for it again';
  return {
    ...trouble,
    type: 'OutcomeUnknown',
    message: `${trouble.message.replace(/\.$/, '')}. Whether it was carried out is unknown. ${remedy}.`,
    isFinal: isLast,
  };
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
