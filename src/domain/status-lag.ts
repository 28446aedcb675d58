import type { DeliveryNotice } from './notices.js';
import type { OrderObservation } from './observation.js';

/** How a change was found. Instants are ISO 8601 UTC. */
export interface FoundChange {
  seen: OrderObservation;
  /** The deliveries that led to the look; none for a poll. */
  claims: readonly DeliveryNotice[];
  /** When the run had read the order before; null: it has not, or trouble came between. */
  lastReadAt: string | null;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * How late a change was seen at most, in milliseconds: since the first of its deliveries came in, or since the look before,
 * be it another attempt of the poll or another read of the run. Undefined when there was none.
 */
export function statusLagMs({ seen, claims, lastReadAt, now }: FoundChange): number | undefined {
  if (claims.length > 0) return notNegative(now - Math.min(...claims.map(({ receivedAt }) => Date.parse(receivedAt))));
  if (seen.kind !== 'reading') return undefined;
  if (lastReadAt === null) return seen.gapMs;
  return notNegative(Math.min(Date.parse(seen.at) - Date.parse(lastReadAt), seen.gapMs ?? Infinity));
}

/** The clock of another process may go ahead. */
const notNegative = (ms: number): number => Math.max(0, ms);
