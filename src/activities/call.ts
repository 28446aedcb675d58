import { activityInfo } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { wallMs } from '../clock.js';
import { parseCallBody } from '../contracts/call-bodies.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { TroubleCode } from '../domain/attention.js';
import {
  type AttemptEnd,
  type AttemptFacts,
  type CallAttempt,
  type CallFailureType,
  type CallTrouble,
  isAboutOrder,
  isChanging,
  isOnlyRead,
  passingTrouble,
  pauseAfterMs,
  type Sent,
  type ServiceCall,
} from '../domain/call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import { utcText } from '../domain/failure-streak.js';
import type { Quote } from '../domain/ride/quote.js';
import { effectOf, RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { SealingError } from '../sealing/sealer.js';
import { type AuthorizedCall, QuietTime } from './authorized-call.js';
import { plainFailure, toDelay } from './failures.js';
import { type LookingPorts, meaningOf, sealingRemedy } from './looking.js';
import { createQuoting, type QuotingPorts } from './quote.js';
import { type Claims, runOfActivity, wasTriedBefore } from './runs.js';
import { TokenUnavailable } from './token.js';

/** The ports of the activity. */
export interface CallActivityPorts extends Pick<LookingPorts, 'account' | 'now'> {
  rideApi: Pick<RideApi, 'scopeOf' | 'callOperation' | 'readEffect' | 'knowsRepeats' | 'askEstimate'>;
  call: AuthorizedCall;
  claims: Pick<Claims, 'takeAsked'>;
  /** Are changes recorded in a store? */
  stores?: boolean;
  /** How the age of a quote is measured; tests set it. */
  quoting?: Pick<QuotingPorts, 'monotonic' | 'livesMs'>;
}

/** The activity that carries out calls, as workflows see it. */
export type CallActivities = ReturnType<typeof createCallActivities>;

const claimedBefore =
  'it was not sent, since another attempt, or another run before a reset of this one, may have sent it already';

/** Makes the activity. One attempt is one request, and the run repeats it. */
export function createCallActivities(ports: CallActivityPorts) {
  const { account: accountOf, rideApi, call: authorized, claims, stores = false, now = wallMs } = ports;
  const quoting = createQuoting({ rideApi, call: authorized, now, ...ports.quoting });

  async function attempt({
    sent: sentBefore,
    isReadFirst,
    number,
    updateId,
    quote: quoteBefore,
    ...given
  }: CallAttempt): Promise<AttemptEnd & AttemptFacts> {
    const { operation } = given;
    const isCreate = operation === 'createOrder';
    const isUnrepeatable = isCreate && !rideApi.knowsRepeats(operation);
    let sent = 'no' as Sent;
    /** May an earlier attempt of this activity have been carried out? */
    let isInDoubt = isChanging(operation) && wasTriedBefore();
    let quote: Quote | null = null;
    let asking: ServiceCall['operation'] = operation;
    const facts = (): AttemptFacts => (quote === null ? {} : { quote });
    const failed = (trouble: CallTrouble, how = sent): AttemptEnd & AttemptFacts => ({
      kind: 'failed',
      sent: isInDoubt ? 'unknown' : how,
      trouble,
      ...facts(),
    });
    const mayNotSend = (why: string): AttemptEnd & AttemptFacts =>
      failed({ ...passingTrouble(given, why), isFinal: true }, 'unknown');
    try {
      const account = accountOf(given.account);
      const call: ServiceCall = { ...given, body: parseCallBody(operation, given.body) };
      if (isReadFirst) {
        const read = (token: string) => rideApi.readEffect(account, call, token);
        const result = await authorized(account, rideApi.scopeOf(account, 'orderDetails'), read);
        return result ? { kind: 'done', result } : { kind: 'noEffect' };
      }
      if (sentBefore === 'unknown' && isUnrepeatable) return mayNotSend('a worker stopped during the request');
      if (call.withQuote) {
        asking = 'priceEstimate';
        quote = await quoting.obtain(account, call, (sentBefore === 'unknown' && quoteBefore) || null);
        call.body = { ...(call.body as object), quote_id: quote.quoteId };
        asking = operation;
      }
      const checkQuote = (): void => quoting.check(call, quote);
      let isClaimed = !isCreate;
      const scope = rideApi.scopeOf(account, operation);
      const result = await authorized(account, scope, async (token) => {
        isClaimed ||= await claims.takeAsked(runOfActivity(), `${operation} ${number}`, updateId);
        if (!isClaimed) return null;
        if (isCreate) isInDoubt = false; // an earlier attempt would have claimed it
        if (isChanging(operation)) sent = 'unknown';
        return await rideApi.callOperation(account, call, token, checkQuote).catch((error: unknown) => {
          if (isChanging(operation)) sent = effectOf(error, isUnrepeatable);
          throw error;
        });
      });
      return result ? { kind: 'done', result, ...facts() } : mayNotSend(claimedBefore);
    } catch (error) {
      const known = toCallTrouble(error, { ...given, operation: asking }, now(), ownPauseMs(number));
      const broken = passingTrouble(given, `an attempt broke off: ${nameOf(error)}`);
      const trouble = withOrderAndQuote(known ?? broken, error, quote);
      const isSent = isInDoubt || sent === 'unknown';
      if (!isSent && sentBefore !== 'unknown') return failed(trouble);
      return failed({ ...trouble, isFinal: (isUnrepeatable && isSent) || isLastWord(error) });
    }
  }

  return {
    /**
     * One attempt of a call, whose end says what is known. Only an attempt that reads fails, so that Temporal repeats it.
     */
    async attemptCall(given: CallAttempt): Promise<AttemptEnd & AttemptFacts> {
      const end = await attempt(given);
      if (end.kind === 'failed' && !end.trouble.isFinal && isRepeatedByTemporal(given)) throw toRepeat(end.trouble);
      return { ...end, ...(stores ? { stores } : {}) };
    },
  };
}

/** A run of release 0.2.0 repeats its reads itself, and allows one attempt. */
const isRepeatedByTemporal = (given: CallAttempt): boolean =>
  isOnlyRead(given) && activityInfo().retryPolicy?.maximumAttempts !== 1;

/** `number`: the attempts that the runs have made; Temporal counts its own. */
const ownPauseMs = (number = 1): number => pauseAfterMs(Math.max(number, activityInfo().attempt));

function toRepeat({ type, message, details, afterMs = 0 }: CallTrouble): ApplicationFailure {
  return plainFailure({ type, message, details, nextRetryDelay: toDelay(Math.max(afterMs, ownPauseMs())) });
}

/** The code words of a quote are unknown; a refusal of it has "quote" in one of them, or names its field (assumed). */
const isQuoteRefused = (error: unknown): boolean =>
  error instanceof RideApiError &&
  !error.retryable &&
  [error.upstreamCode, ...error.upstreamFields].some((word) => /quote/i.test(word ?? ''));

/** Adds the order that the answer named, and whether the service refused the quote. */
function withOrderAndQuote(trouble: CallTrouble, error: unknown, quote: Quote | null): CallTrouble {
  const named = error instanceof RideApiError || error instanceof UnusableReply ? error.namedOrderId : undefined;
  return {
    ...trouble,
    ...(named === undefined ? {} : { namedOrderId: named }),
    ...(quote !== null && isQuoteRefused(error) ? { isQuoteRefused: true } : {}),
  };
}

/** The message may hold anything. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

const failureTypes: Partial<Record<TroubleCode, CallFailureType>> = {
  credentialsRejected: 'CredentialsRejected',
  forbidden: 'Forbidden',
  orderNotFound: 'OrderNotFound',
};

/** The failure type and the remedy of a refusal. */
function toRefusal(error: RideApiError, call: CallAsked): Pick<CallTrouble, 'type' | 'message' | 'advice'> {
  const { code, remedy, fields } = meaningOf(error, call);
  const type = failureTypes[code] ?? 'Refused';
  if (type !== 'Refused') return { type, message: `${error.message}. ${remedy}` };
  // Without a code word of the service it may mean that the service has no such call.
  const compare = ` Compare ${fields} in the contract profile with what the service takes.`;
  return {
    type,
    message: `${error.message}.${error.upstreamCode === null ? compare : ''}`,
    advice: `The details hold what the service says${adviceFor(error, call)}`,
  };
}

/** The end of a sentence. Calls about an existing order have no caller key, so they get no advice about one. */
function adviceFor({ status }: RideApiError, { operation }: CallAsked): string {
  if (isAboutOrder(operation)) return '; correct the request.';
  // The service may know this request from an earlier run, whose order another key would double.
  const isKnownPerhaps = operation === 'createOrder' && status === 409;
  return isKnownPerhaps
    ? '. It may know this request already: check with the service before you order again.'
    : '; correct the request and use another key.';
}

/** What the messages about a call name. */
type CallAsked = Pick<ServiceCall, 'operation' | 'account' | 'orderId'>;

/** What a failed attempt means for the caller if it was the first. Undefined for an error that is not about the call. */
export function toCallTrouble(
  error: unknown,
  call: CallAsked,
  now: number,
  backOffMs: number,
): CallTrouble | undefined {
  const { operation, account } = call;
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
    const { type, message, ...advice } = toRefusal(error, call);
    // Only the caller sees the details, whereas error texts are shown to everybody.
    const details = [{ status: error.status, code: error.upstreamCode, message: error.upstreamMessage }];
    return trouble(type, message, { details, ...advice });
  }
  if (error instanceof TokenUnavailable) {
    const afterMs = Math.max(error.afterMs, 1_000);
    if (error.code === 'upstreamUnavailable') return passing(error.message, afterMs);
    // The tokens may have been rejected for another operation.
    return trouble('CredentialsRejected', error.message, { afterMs, isFinal: !error.isPaced });
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
