import type { Arrival } from './intake.js';

/** How many deliveries each address may send. */
export interface AddressRates {
  /** Counts a delivery; false: the address has sent too many. */
  take(address: Pick<Arrival, 'account' | 'eventType' | 'generation'>): boolean;
}

/** What an address may send at once, after it was quiet for so long. A sender that had an outage repeats what it could not send. */
const burstSeconds = 60;
/** A bound for memory. An account has few addresses at a time. */
const maxKnown = 1_000;

/** A token bucket for each address, in the memory of this process. `perSecond` null: no limit. */
export function createAddressRates(
  perSecond: number | null,
  now: () => number = () => performance.now(),
): AddressRates {
  if (perSecond === null) return { take: () => true };
  const stepMs = 1_000 / perSecond;
  // The instant at which the bucket is full again says all about it (the generic cell rate algorithm).
  const fullAt = new Map<string, number>();
  return {
    take({ account, eventType, generation }) {
      const address = `${account}/${eventType}/${generation}`;
      const at = now();
      const next = Math.max(fullAt.get(address) ?? at, at) + stepMs;
      if (next - at > burstSeconds * 1_000) return false;
      if (fullAt.size >= maxKnown && !fullAt.has(address)) fullAt.clear();
      fullAt.set(address, next);
      return true;
    },
  };
}
