import type { ApplicationFailure } from '@temporalio/common';
import type { CallFailureType, ServiceCall } from '../domain/business-call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import { utcText } from '../domain/struggle.js';
import { RideApiError, type RideApiErrorCode } from '../ride-api/errors.js';
import { SealingError } from '../sealing/sealer.js';
import { plainFailure, toDelay } from './not-yet.js';
import { QuietTime } from './quiet-times.js';
import { sealingRemedy } from './read-trouble.js';
import { TokenUnavailable } from './token-source.js';

/** A failure as one attempt hands it to the next. */
export interface CallTrouble {
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
export function toDoubt(trouble: CallTrouble, isLast: boolean): CallTrouble {
  const remedy = 'Look at the service whether it was carried out before you ask for it again';
  return {
    ...trouble,
    type: 'OutcomeUnknown',
    message: `${trouble.message.replace(/\.$/, '')}. Whether it was carried out is unknown. ${remedy}.`,
    isFinal: isLast,
  };
}

/** Has the service said all that it will? An answer that is missing or makes no sense may be a better one next time. */
export const isLastWord = (error: unknown): boolean => {
  if (!(error instanceof RideApiError)) return error instanceof InvalidInput;
  return !error.retryable && error.code !== 'TOKEN_REJECTED' && error.code !== 'UNEXPECTED_STATUS';
};

/** The failure of an attempt. */
export const toFailure = ({ type, message, details, isFinal, afterMs }: CallTrouble): ApplicationFailure =>
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
