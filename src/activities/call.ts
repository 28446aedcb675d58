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
  storeAnswer,
  withDoubt,
} from '../domain/call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { rideCallId } from '../domain/ride/ride.js';
import { utcText } from '../domain/struggle.js';
import type { OrderClaim } from '../domain/workflow-ids.js';
import { isOutcomeUnclear, RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { SealingError } from '../sealing/sealer.js';
import { type AuthorizedCall, QuietTime } from './authorized-call.js';
import { plainFailure, toDelay } from './failures.js';
import { fieldsBehind, type RefusalType, refusals, sealingRemedy } from './looking.js';
import { createSearch, type SearchPorts } from './order-search.js';
import { TokenUnavailable } from './token-source.js';

/** The ports of the activity. */
export interface CallActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  rideApi: Pick<RideApi, 'callOperation' | 'readEffect' | 'knowsRepeats' | 'knowsSearch'> & SearchPorts['rideApi'];
  call: AuthorizedCall;
  /** Are changes recorded in a store? */
  stores?: boolean;
  now?: () => number;
}

/** The activity that carries out calls, as workflows see it. */
export type CallActivities = ReturnType<typeof createCallActivities>;

/** What one attempt leaves for the next, in the heartbeat details: they add no event. */
interface Progress extends CallDoubt {
  /** Which attempt left it. */
  attempt: number;
}

/** May the service have carried out the call? A 503 says no, but a proxy may send it after the service took the call. */
const isUnclear = (error: unknown): boolean =>
  isOutcomeUnclear(error) || (error instanceof RideApiError && error.code === 'UPSTREAM_FAILED');

/** The service may give these answers to a create although it made the order: "see there", and words of an error under a success (assumed). */
const isDoubtful = (error: unknown): boolean =>
  error instanceof RideApiError && (error.status === 303 || error.code === 'ERROR_IN_SUCCESS');

/** How one attempt of a call ended. */
type AttemptEnd = { kind: 'done'; result: BusinessCallResult } | (AttemptOutcome & { error?: unknown });

/**
 * Makes the activity. One attempt is one request; Temporal's retry repeats it without history events. A changing call with an unclear
 * outcome is repeated only if that cannot have a second effect.
 */
export function createCallActivities({
  account: accountOf,
  rideApi,
  call: authorized,
  stores = false,
  now = Date.now,
}: CallActivityPorts) {
  const search = createSearch({ rideApi, call: authorized, now });

  /** Calls `onFailure` after a failed request. */
  async function send(
    account: Account,
    call: ServiceCall,
    before: CallDoubt,
    onFailure: (error: unknown) => void,
  ): Promise<BusinessCallResult> {
    const scope = rideApi.scopeOf(account, call.operation);
    const signal = isChanging(call.operation) ? undefined : cancellationSignal(); // no doubt of our own making
    const result = await authorized(account, scope, call.operation, async (token) => {
      return await rideApi.callOperation(account, call, token, signal).catch((error: unknown) => {
        onFailure(error);
        throw error;
      });
    });
    return before.inDoubt && call.operation === 'addReferenceCode'
      ? { ...result, body: withDuplicatesAdded(result.body, call.body) }
      : result;
  }

  /** Reads the order to find out what became of the call. If it had no effect, the next attempt sends it again. */
  async function clarify(account: Account, call: ServiceCall): Promise<AttemptEnd> {
    const scope = rideApi.scopeOf(account, 'orderDetails');
    const result = await authorized(account, scope, 'readOrder', (token) => rideApi.readEffect(account, call, token));
    return result ? { kind: 'done', result } : { kind: 'noEffect' };
  }

  async function attempt(given: ServiceCall, before: CallDoubt): Promise<AttemptEnd> {
    const { operation } = given;
    const isUnrepeatable = operation === 'createOrder' && !rideApi.knowsRepeats(operation);
    const isSearched = isUnrepeatable && rideApi.knowsSearch();
    let sent: 'clear' | 'unclear' | null = null;
    try {
      const account = accountOf(given.account);
      const call: ServiceCall = { ...given, body: parseCallBody(operation, given.body) };
      if (before.inDoubt && showsInOrder(operation)) return await clarify(account, call);
      if (before.inDoubt && isSearched) return await search(account, call);
      if (before.inDoubt && isUnrepeatable) {
        const trouble = passingTrouble(call, 'a worker stopped during the request');
        return { kind: 'failed', sent, trouble, isLast: true };
      }
      const onFailure = (error: unknown): void => {
        sent = isUnclear(error) || (isUnrepeatable && isDoubtful(error)) ? 'unclear' : 'clear';
      };
      return { kind: 'done', result: await send(account, call, before, onFailure) };
    } catch (error) {
      const trouble = toCallTrouble(error, given, { now: now(), backOffMs: ownBackOffMs() }) ?? null;
      const isSearchNext = isSearched && sent === 'unclear';
      const isLast = !isSearchNext && ((isUnrepeatable && !isSearched) || isLastWord(error));
      return { kind: 'failed', sent, trouble, isLast, error };
    }
  }

  return {
    /** One call for a caller. A failure with one of `callFailureTypes` is about the call; Temporal repeats any other. */
    async callService({ asksForStore, ...call }: ServiceCall): Promise<BusinessCallResult & { stores?: true }> {
      const answers = stores && asksForStore ? [storeAnswer] : [];
      const before = doubtBefore(call.operation);
      const end = await attempt(call, before);
      if (end.kind === 'done') return Object.assign({}, end.result, ...answers);
      const { left, trouble } = afterAttempt(call, before, end);
      leave(left);
      throw trouble ? toFailure({ ...trouble, details: [...trouble.details, ...answers] }) : end.error;
    },
  };
}

/**
 * An attempt that ends leaves its doubt in the heartbeat details. If they are from an older attempt, the previous one broke off, perhaps
 * during a request.
 */
function doubtBefore(operation: BusinessOperation): CallDoubt {
  const { attempt, heartbeatDetails } = activityInfo();
  if (attempt === 1 || !isChanging(operation)) return noDoubt;
  const { attempt: leftBy, ...left } = { ...noDoubt, ...(heartbeatDetails as Progress | null | undefined) };
  return leftBy === attempt - 1 ? left : withDoubt(left);
}

const leave = (left: CallDoubt): void => heartbeat({ ...left, attempt: activityInfo().attempt } satisfies Progress);

/** The pause of the activity's retry policy after this attempt. */
function ownBackOffMs(): number {
  const { attempt, retryPolicy } = activityInfo();
  const { initialInterval = 1_000, backoffCoefficient = 2, maximumInterval = 30_000 } = retryPolicy ?? {};
  return Math.min(Number(initialInterval) * backoffCoefficient ** (attempt - 1), Number(maximumInterval));
}

/** `fields`: those of the contract profile of which one is wrong if the service refuses because of a wrong guess. */
const remedies: Record<RefusalType, (operation: BusinessOperation, fields: string) => string> = {
  CredentialsRejected: (operation) =>
    `Check base URL, token URL, client id and secret of the account, and path and scope of operations.${operation} in the contract profile`,
  Forbidden: (operation) =>
    `Check the business id and the permissions of the account, and operations.${operation}.scope in the contract profile`,
  OrderNotFound: (_operation, fields) =>
    `Check the order id, that the order belongs to the account, and ${fields} in the contract profile`,
  Refused: () => 'The details hold what the service says; correct the request and use another key',
};

/** The remedy for a refusal. One without a code word of the service may mean that the service has no such call. */
function remedyFor(error: RideApiError, operation: BusinessOperation): string {
  const { failure } = refusals[error.code];
  const fields = fieldsBehind(error, operation);
  const remedy = remedies[failure](operation, fields);
  const isUnexplained = failure === 'Refused' && error.upstreamCode === null;
  return isUnexplained ? `${remedy}. Compare ${fields} in the contract profile with what the service takes` : remedy;
}

/** What a failed attempt means for the caller if it was the first. Undefined for an error that is not about the call, which
 *  Temporal repeats. */
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
    // A short `Retry-After` must not lead to more requests than none.
    if (error.retryable) return passing(error.message, askedMs && Math.max(askedMs, backOffMs));
    const { failure } = refusals[error.code];
    // Only the caller sees the details, whereas error texts are shown to everybody.
    const details = [{ status: error.status, code: error.upstreamCode, message: error.upstreamMessage }];
    return trouble(failure, `${error.message}. ${remedyFor(error, operation)}.`, { details });
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

/** Is the answer final? After a missing or unexpected answer a repeat may get a better one. */
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

/** The ports of the activity that asks an order where it comes from. */
interface ClaimActivityPorts extends Pick<CallActivityPorts, 'account' | 'call'> {
  rideApi: Pick<RideApi, 'confirmOrder' | 'scopeOf'>;
  now: () => number;
}

/** That activity, as workflows see it. */
export type ClaimActivities = ReturnType<typeof createClaimActivities>;

/** See `ClaimActivities`. */
export const createClaimActivities = ({ account: accountOf, rideApi, call: authorized, now }: ClaimActivityPorts) => ({
  /** Does the order itself name this ride as the one that made it? One read. */
  async confirmOrder(claim: OrderClaim): Promise<boolean> {
    const operation = 'orderDetails';
    try {
      const account = accountOf(claim.account);
      const confirm = (token: string) =>
        rideApi.confirmOrder(account, { ...claim, operation, requestId: rideCallId(claim) }, token);
      return await authorized(account, rideApi.scopeOf(account, operation), 'readOrder', confirm);
    } catch (error) {
      const about = { operation, account: claim.account } as const;
      const trouble = toCallTrouble(error, about, { now: now(), backOffMs: ownBackOffMs() });
      throw trouble ? toFailure(trouble) : error;
    }
  },
});
