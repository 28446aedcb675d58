import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { parseCallBody } from '../contracts/call-bodies.js';
import { withDuplicatesAdded } from '../contracts/call-reply.js';
import type { Account } from '../domain/account.js';
import {
  type AttemptEnd,
  type BusinessCallResult,
  type BusinessOperation,
  type CallAttempt,
  type CallFailureType,
  type CallTrouble,
  passingTrouble,
  pauseAfterMs,
  type Sent,
  type ServiceCall,
} from '../domain/call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { utcText } from '../domain/struggle.js';
import { isOutcomeUnclear, RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { SealingError } from '../sealing/sealer.js';
import { type AuthorizedCall, QuietTime } from './authorized-call.js';
import { type Claims, runOfActivity } from './claims.js';
import { plainFailure, toDelay } from './failures.js';
import { fieldsBehind, type RefusalType, refusals, sealingRemedy } from './looking.js';
import { TokenUnavailable } from './token.js';

/** The ports of the activities. */
export interface CallActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  rideApi: Pick<RideApi, 'scopeOf' | 'callOperation' | 'readEffect' | 'knowsRepeats'>;
  call: AuthorizedCall;
  claims: Pick<Claims, 'takeAsked'>;
  /** Are changes recorded in a store? */
  stores?: boolean;
  now?: () => number;
}

/** The activities that carry out calls, as workflows see them. */
export type CallActivities = ReturnType<typeof createCallActivities>;

/** May the service have carried out the call? A 503 says no, but a proxy may send it after the service took the call. */
const isUnclear = (error: unknown): boolean =>
  isOutcomeUnclear(error) || (error instanceof RideApiError && error.code === 'UPSTREAM_FAILED');

/** The service may give these answers to a create although it made the order: "see there", and words of an error under a success (assumed). */
const isDoubtful = (error: unknown): boolean =>
  error instanceof RideApiError && (error.status === 303 || error.code === 'ERROR_IN_SUCCESS');

/** What of a failed request says about the call. */
const sentBy = (error: unknown, isUnrepeatable: boolean): Sent => {
  if (isUnclear(error) || (isUnrepeatable && isDoubtful(error))) return 'unknown';
  return error instanceof RideApiError && error.retryable ? 'no' : 'yes';
};

const claimedBefore =
  'it was not sent, since another attempt, or another run before a reset of this one, may have sent it already';

/** Makes the activities. One attempt is one request; reads are repeated by Temporal's retry, changing calls by the run. */
export function createCallActivities(ports: CallActivityPorts) {
  const { account: accountOf, rideApi, call: authorized, claims, stores = false, now = Date.now } = ports;

  async function attempt({
    sent: sentBefore,
    isReadFirst,
    isWithdrawn,
    number,
    updateId,
    ...given
  }: CallAttempt): Promise<AttemptEnd> {
    const { operation } = given;
    const isCreate = operation === 'createOrder';
    const isUnrepeatable = isCreate && !rideApi.knowsRepeats(operation);
    let sent = 'no' as Sent;
    const failed = (how: Sent, trouble: CallTrouble): AttemptEnd => ({ kind: 'failed', sent: how, trouble });
    const mayNotSend = (why: string): AttemptEnd => failed('unknown', { ...passingTrouble(given, why), isFinal: true });
    try {
      const account = accountOf(given.account);
      const call: ServiceCall = { ...given, body: parseCallBody(operation, given.body) };
      if (isReadFirst) {
        const read = (token: string) => rideApi.readEffect(account, call, token);
        const result = await authorized(account, rideApi.scopeOf(account, 'orderDetails'), read);
        return result ? { kind: 'done', result } : { kind: 'noEffect' };
      }
      if (sentBefore === 'unknown' && isUnrepeatable) return mayNotSend('a worker stopped during the request');
      const claim = (by?: string) => claims.takeAsked(runOfActivity(), `${operation} ${number}`, updateId, by);
      // One that was lost after its claim is made again.
      if (isWithdrawn) return (await claim('the withdrawal')) ? { kind: 'noEffect' } : mayNotSend(claimedBefore);
      let isClaimed = !isCreate;
      const scope = rideApi.scopeOf(account, operation);
      const result = await authorized(account, scope, async (token) => {
        isClaimed ||= await claim();
        if (!isClaimed) return null;
        sent = 'unknown';
        return await rideApi.callOperation(account, call, token).catch((error: unknown) => {
          sent = sentBy(error, isUnrepeatable);
          throw error;
        });
      });
      if (!result) return mayNotSend(claimedBefore);
      const isRepeat = sentBefore === 'unknown' && operation === 'addReferenceCode';
      const body = isRepeat ? withDuplicatesAdded(result.body, call.body) : result.body;
      return { kind: 'done', result: { ...result, body } };
    } catch (error) {
      const known = toCallTrouble(error, given, now(), pauseAfterMs(number));
      const trouble = known ?? passingTrouble(given, `an attempt broke off: ${nameOf(error)}`);
      const isLast = (isUnrepeatable && sent === 'unknown') || isLastWord(error);
      const isDoubted = sent === 'unknown' || sentBefore === 'unknown';
      return failed(sent, isDoubted ? { ...trouble, isFinal: isLast } : trouble);
    }
  }

  return {
    /** One read for a caller. A failure with one of `callFailureTypes` is about the call; Temporal repeats any other. */
    async callService(given: ServiceCall): Promise<BusinessCallResult> {
      const { operation } = given;
      try {
        const account = accountOf(given.account);
        const call: ServiceCall = { ...given, body: parseCallBody(operation, given.body) };
        const send = (token: string) => rideApi.callOperation(account, call, token, cancellationSignal());
        return await authorized(account, rideApi.scopeOf(account, operation), send);
      } catch (error) {
        const trouble = toCallTrouble(error, given, now(), pauseAfterMs(activityInfo().attempt));
        throw trouble ? toFailure(trouble) : error;
      }
    },

    /** One attempt of a changing call. It never fails for what the service or the network does: its end says what is known. */
    async attemptCall(given: CallAttempt): Promise<AttemptEnd & { stores?: true }> {
      return { ...(await attempt(given)), ...(stores ? { stores } : {}) };
    },
  };
}

/** The message may hold anything. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

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
  now: number,
  backOffMs: number,
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
