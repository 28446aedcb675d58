import { RideApiError, type RideApiErrorCode } from '../../src/ride-api/errors.js';
import { decideRetry } from '../../src/ride-api/retry-decision.js';

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
    decideRetry(statusOf[code], { 'retry-after': retryAfter?.toString() }, { now: 0, maxWaitMs: 86_400_000 }),
  );

export const apiErrorCodes = Object.keys(statusOf) as RideApiErrorCode[];
