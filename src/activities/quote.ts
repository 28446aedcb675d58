import { randomUUID } from 'node:crypto';
import { ageMs, type MonotonicClock, monotonicMs, type WallClock, wallMs } from '../clock.js';
import type { Account } from '../domain/account.js';
import type { ServiceCall } from '../domain/call.js';
import { ownQuoteTooOld, type Quote, quoteLivesMs, toEstimateBody } from '../domain/ride/quote.js';
import { QuoteTooOld } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { dueAtServer } from './temporal-clock.js';

/** The ports of quotes. */
export interface QuotingPorts {
  rideApi: Pick<RideApi, 'askEstimate' | 'scopeOf'>;
  call: AuthorizedCall;
  now?: WallClock;
  monotonic?: MonotonicClock;
  /** How long a quote lives at the service. */
  livesMs?: number;
}

/** Left for the way to the service, as a share of a quote's life: 10 s of two minutes. */
const marginShare = 1 / 12;

/**
 * Quotes for creates. One attempt asks for the estimate and sends the create, so one process measures the age of the
 * quote, whatever happens between the two. A quote that has become too old is never sent.
 */
export function createQuoting(ports: QuotingPorts) {
  const { rideApi, call: authorized, now = wallMs, monotonic = monotonicMs, livesMs = quoteLivesMs } = ports;
  const process = randomUUID();
  const usableMs = livesMs * (1 - marginShare);
  const isTooOld = ({ askedAt }: Quote): boolean => monotonic() - askedAt >= usableMs;

  return {
    /**
     * A quote for this create. `before` is that of an attempt whose answer was lost: a service that compares the bodies
     * of repeated creates needs the same one. Throws like a read, and `InvalidInput`.
     */
    async obtain(account: Account, { body }: ServiceCall, before: Quote | null): Promise<Quote> {
      if (before?.process === process && !isTooOld(before)) return before;
      const question = toEstimateBody(body as Record<string, unknown>);
      return await authorized(account, rideApi.scopeOf(account, 'priceEstimate'), async (token) => {
        const askedAt = monotonic();
        return { ...(await rideApi.askEstimate(account, question, token)), askedAt, process };
      });
    },

    /** For the moment before the first byte of a create. Throws `QuoteTooOld`, or `InvalidInput` for the caller's own quote. */
    check({ quoteGivenAt }: ServiceCall, quote: Quote | null): void {
      if (quote !== null && isTooOld(quote)) throw new QuoteTooOld();
      if (quoteGivenAt === undefined) return;
      const givenAt = Date.parse(quoteGivenAt);
      // This machine's clock may be slow, and an operator may have paused the activity since it was scheduled.
      const old = Math.max(ageMs(givenAt, now), (dueAtServer() ?? givenAt) - givenAt);
      if (old > livesMs) throw ownQuoteTooOld();
    },
  };
}
