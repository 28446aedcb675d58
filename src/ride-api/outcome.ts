import { InvalidInput } from '../domain/errors.js';
import { RideApiError, RideApiUnreachable } from './errors.js';

/** Codes of a way that broke off before the request was sent. */
const unsentCodes: readonly string[] = ['CONNECTION_REFUSED', 'CONNECT_TIMEOUT', 'DNS', 'TLS'];

/**
 * May a changing call that failed like this have been carried out all the same (upstream section 9.1)? Only what the
 * service surely refused, and what never reached it, is clear; for any other error the answer is yes.
 */
export function isOutcomeUnclear(error: unknown): boolean {
  // The system's own time-out also ends connections that stand.
  if (error instanceof RideApiUnreachable) return error.systemCode === 'ETIMEDOUT' || !unsentCodes.includes(error.code);
  if (error instanceof InvalidInput) return false; // no request could be made of it
  if (!(error instanceof RideApiError)) return true;
  // 503 says that the service did not take the request; 500, 502 and 504 may come after it did.
  if (error.code === 'UPSTREAM_FAILED') return error.status !== 503;
  return error.code === 'UNEXPECTED_STATUS';
}
