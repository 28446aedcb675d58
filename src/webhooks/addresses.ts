import { timingSafeEqual } from 'node:crypto';
import { type MonotonicClock, monotonicMs } from '../clock.js';
import type { AccountName } from '../domain/keys.js';
import { isEventType } from '../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';

/** One of our addresses. */
export interface Address extends SubscriptionKey {
  generation: string;
  businessId?: string | undefined;
}

/** A delivery at one of our addresses. */
export interface Arrival extends Address {
  /** Milliseconds since the epoch. */
  arrivedAt: number;
  /** Of the delivery's trace, where traces are on. */
  traceparent?: string;
}

export interface AddressesOptions {
  accounts: readonly { name: AccountName; businessId?: string }[];
  /** Reads the last segment of a path: the generation, if its mac is ours. Takes as long for a wrong mac. */
  readCapability(key: SubscriptionKey, capability: string): string | undefined;
  /** What an address may send; null: any number. */
  perSecond: number | null;
  monotonic?: MonotonicClock;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** What an address may send at once, after it was quiet for so long. A sender that had an outage repeats what it could not send. */
const burstSeconds = 60;
/** A bound for memory. An account has few addresses at a time. */
const maxKnown = 1_000;

/** Our addresses, and a token bucket for each, in the memory of this process. */
export function createAddresses(options: AddressesOptions) {
  const { readCapability, perSecond, monotonic = monotonicMs } = options;
  const accounts = new Map<string, AddressesOptions['accounts'][number]>(
    options.accounts.map((account) => [account.name, account]),
  );
  /** When an address may send a whole burst again. This instant says all about its bucket (the generic cell rate algorithm). */
  const fullAt = new Map<string, number>();
  /** The right last segment of a path. */
  const proven = new Map<string, Buffer>();

  /** Nearly all requests come to few addresses, and a mac takes a quarter of the time of a delivery. So a known one is compared, in constant time. */
  function readProven(key: SubscriptionKey, capability: string): string | undefined {
    const generation = capability.slice(0, capability.indexOf('.'));
    const name = `${key.account}/${key.eventType}/${generation}`;
    const [held, given] = [proven.get(name), Buffer.from(capability)];
    if (held?.length === given.length && timingSafeEqual(held, given)) return generation;
    if (readCapability(key, capability) === undefined) return undefined;
    if (proven.size >= maxKnown) proven.clear();
    proven.set(name, given);
    return generation;
  }

  function count({ account, eventType, generation }: Address, deliveries: number, mostMs: number): boolean {
    if (perSecond === null) return true;
    const name = `${account}/${eventType}/${generation}`;
    const at = monotonic();
    const next = Math.max(fullAt.get(name) ?? 0, at) + (deliveries * 1_000) / perSecond;
    if (next - at > mostMs) return false;
    if (fullAt.size >= maxKnown && !fullAt.has(name)) fullAt.clear();
    fullAt.set(name, next);
    return true;
  }

  return {
    /** The address with this path; null if it is not one of ours, whatever the reason. */
    find(account: string, eventType: string, capability: string): Address | null {
      // The mac comes first, so that a refusal takes as long for an unknown account.
      const generation = readProven({ account, eventType } as SubscriptionKey, capability);
      const { name, businessId } = accounts.get(account) ?? {};
      if (generation === undefined || name === undefined || !isEventType(eventType)) return null;
      return { account: name, eventType, generation, businessId };
    },

    /** Counts a delivery; false: the address has sent too many. */
    take: (address: Address): boolean => count(address, 1, burstSeconds * 1_000),
    /** Counts what a delivery turned out to cost beside itself, in deliveries. The address pays for it later. */
    charge: (address: Address, deliveries: number): void => void count(address, deliveries, Number.POSITIVE_INFINITY),
  };
}
