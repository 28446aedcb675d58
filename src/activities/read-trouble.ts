import { UnusableReply } from '../contracts/unusable-reply.js';
import type { AttentionCode } from '../domain/attention.js';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import type { ReadTrouble, TroubleCode } from '../domain/struggle.js';
import { RideApiError, type RideApiErrorCode, RideApiGarbled, RideApiUnreachable } from '../ride-api/errors.js';
import { SealingError } from '../sealing/sealer.js';
import { QuietTime } from './quiet-times.js';
import { TokenUnavailable } from './token-source.js';

/** Refusals that mean more than "cannot be read". A 401 gets here only with a token that was renewed for this call. */
const codeByRefusal: Partial<Record<RideApiErrorCode, TroubleCode>> = {
  TOKEN_REJECTED: 'credentialsRejected',
  FORBIDDEN: 'forbidden',
  ORDER_UNKNOWN: 'orderNotFound',
  RATE_LIMITED: 'upstreamUnavailable',
  UPSTREAM_FAILED: 'upstreamUnavailable',
};

/** What the look was about. */
interface Asked {
  account: AccountName;
  /** What a 404 calls in question. */
  lookup?: { orderId: OrderId; operation: string };
}

const remedies: Record<AttentionCode, (asked: Asked) => string> = {
  credentialsRejected: ({ account }) => `Check base URL, token URL, client id and secret of account ${account}.`,
  scopeRejected: ({ account }) => `Check which scopes the client of account ${account} was granted.`,
  grantRejected: ({ account }) => `Check the token settings of the contract profile for account ${account}.`,
  forbidden: ({ account }) => `Check the business id and the permissions of account ${account}.`,
  unreadableStatus: () => 'Check the operations and pointers of the contract profile against what the service sends.',
  upstreamUnavailable: () => 'Nothing to do here unless it lasts: the service is asked again by itself.',
  orderNotFound: ({ account, lookup }) =>
    lookup
      ? `Check order id ${lookup.orderId}, that the order belongs to account ${account}, and operations.${lookup.operation}.path in the contract profile. It is looked for again by itself.`
      : '',
  outcomeUnknown: () => '',
  subscriptionSilent: () => '',
};

/** Of a token that another worker has sealed. */
export const sealingRemedy = 'Give all workers the same FARETRAIL_SEALING_KEYS.';

/** The type of the Temporal failure for a code: `OrderNotFound`, `CredentialsRejected`. */
export const toFailureType = (code: TroubleCode): string => `${code.charAt(0).toUpperCase()}${code.slice(1)}`;

/** What a failed look means for the run. Undefined for errors that are not about the service: Temporal repeats those. */
export function toReadTrouble(error: unknown, asked: Asked, now: number): ReadTrouble | undefined {
  const trouble = (code: TroubleCode, message: string, afterMs?: number): ReadTrouble => ({
    code,
    message: `${message}. ${remedies[code](asked)}`.trimEnd(),
    afterMs,
  });
  if (error instanceof TokenUnavailable) {
    return { code: error.code, message: error.message, afterMs: Math.max(error.retryAt - now, 1_000), isUnsent: true };
  }
  if (error instanceof RideApiError) {
    return trouble(codeByRefusal[error.code] ?? 'unreadableStatus', error.message, error.retryAfterMs);
  }
  if (error instanceof QuietTime)
    return { ...trouble('upstreamUnavailable', error.message, error.leftMs), isUnsent: true };
  if (error instanceof RideApiUnreachable) return trouble('upstreamUnavailable', error.message);
  if (error instanceof SealingError) {
    return { code: 'credentialsRejected', message: `${error.message}. ${sealingRemedy}` };
  }
  const isUnreadable =
    error instanceof RideApiGarbled || error instanceof UnusableReply || error instanceof InvalidInput;
  return isUnreadable ? trouble('unreadableStatus', error.message) : undefined;
}
