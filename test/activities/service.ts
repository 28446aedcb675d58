import type { AccessToken } from '../../src/activities/token.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { toScope } from '../../src/domain/keys.js';
import { RideApiError, type RideApiErrorCode } from '../../src/ride-api/errors.js';
import type { RideApi } from '../../src/ride-api/ride-api.js';

const statusOf: Record<RideApiErrorCode, number> = {
  BAD_REQUEST: 400,
  TOKEN_REJECTED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  ORDER_UNKNOWN: 404,
  UNPROCESSABLE: 422,
  REFUSED: 418,
  RATE_LIMITED: 429,
  UPSTREAM_FAILED: 503,
  REDIRECTED: 302,
  ERROR_IN_SUCCESS: 200,
  UNEXPECTED_STATUS: 207,
};

/** The error of an answer with this code, as the ride API makes it; `retryAfter` is the header in seconds, `upstreamCode` the
 *  word in the body. */
export const apiError = (
  code: RideApiErrorCode,
  retryAfter?: number,
  upstreamCode: string | null = null,
): RideApiError =>
  new RideApiError(
    code,
    statusOf[code],
    { upstreamCode, requestId: null },
    retryAfter === undefined ? undefined : retryAfter * 1_000,
  );

export const apiErrorCodes = Object.keys(statusOf) as RideApiErrorCode[];

/** One call to a service that answers these in turn, and repeats the last one. */
export function nextOf<Answer>(answers: (Answer | Error)[]): Answer {
  const next = answers.length > 1 ? answers.shift() : answers[0];
  if (next === undefined) throw new Error('the stage has no answer');
  if (next instanceof Error) throw next;
  return next;
}

const notPlayed = (name: string) => () => Promise.reject(new Error(`${name} is not played here`));

/** The service, with only the given parts played. */
export const fakeRideApi = (parts: Partial<RideApi>): RideApi => ({
  requestToken: notPlayed('requestToken'),
  readOrder: notPlayed('readOrder'),
  readReceipt: notPlayed('readReceipt'),
  callOperation: notPlayed('callOperation'),
  askEstimate: notPlayed('askEstimate'),
  readEffect: notPlayed('readEffect'),
  scopeOf: (_account, operation) => toScope(defaultContractProfile.operations[operation].scope),
  knowsRepeats: () => true,
  createSubscriber: notPlayed('createSubscriber'),
  listSubscribers: notPlayed('listSubscribers'),
  deleteSubscriber: notPlayed('deleteSubscriber'),
  close: async () => undefined,
  ...parts,
});

/** A source that serves `token-1` until a call names it as rejected, then `token-2`, and so on. */
export function tokensInOrder() {
  const calls: (string | undefined)[] = [];
  const scopes: string[] = [];
  let current = 1;
  return {
    /** The rejected token that each call names. */
    calls,
    scopes,
    async get(_account: unknown, scope: string, rejected?: string): Promise<AccessToken> {
      calls.push(rejected);
      scopes.push(scope);
      if (rejected === `token-${current}`) current += 1;
      return { id: `token-${current}`, value: `clear token-${current}` };
    },
  };
}
