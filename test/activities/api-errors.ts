import { RideApiError, type RideApiErrorCode } from '../../src/ride-api/errors.js';
import { decideRetry } from '../../src/ride-api/retry-decision.js';

const words = { upstreamCode: null, requestId: null };

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

/** The error of an answer with this code, as the ride API makes it; `retryAfter` is the header in seconds. */
export const apiError = (code: RideApiErrorCode, retryAfter?: number): RideApiError =>
  new RideApiError(code, statusOf[code], words, decideRetry(statusOf[code], retryAfter?.toString(), 0));

export const apiErrorCodes = Object.keys(statusOf) as RideApiErrorCode[];
