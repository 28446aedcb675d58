import { timingSafeEqual } from 'node:crypto';
import { type MonotonicClock, monotonicMs } from '../clock.js';
import type { AccountName } from '../domain/keys.js';
import { shares } from '../domain/shares.js';
import { isEventType } from '../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import { createBuckets, unlimited } from './buckets.js';

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

/** The same with what it costs. */
export interface TolledArrival extends Arrival {
  toll: Toll;
}

/**
 * What a delivery costs its address. Each address has two shares of the same size: an open one, and one for deliveries that prove
 * themselves by a secret. So whoever only knows the address takes nothing from the service.
 */
export interface Toll {
  /** The open share had room, and has paid. False: only a proof can still pay. */
  readonly isPaid: boolean;
  /** The size of the body is known, in bytes. Gives back what was paid for more. */
  settle(bytes: number): void;
  /** Adds what the body turned out to cost, in deliveries: the address pays for it later. */
  addCost(deliveries: number): void;
  /** The delivery has proved itself, so the other share pays. False: that one is used up. */
  prove(): boolean;
}

/** For a delivery that costs nothing. */
export const free: Toll = { isPaid: true, settle: () => undefined, addCost: () => undefined, prove: () => true };

export interface AddressesOptions {
  accounts: readonly { name: AccountName; businessId?: string }[];
  /** Reads the last segment of a path: the generation, if its mac is ours. Takes as long for a wrong mac. */
  readCapability(key: SubscriptionKey, capability: string, requestHost?: string): string | undefined;
  /** What an address may send; null: any number. */
  perSecond: number | null;
  monotonic?: MonotonicClock;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** A bound for memory. An account has few addresses at a time. */
const maxKnown = 1_000;

/** Our addresses, and the shares of each, in the memory of this process. */
export function createAddresses(options: AddressesOptions) {
  const { readCapability, perSecond, monotonic = monotonicMs } = options;
  const accounts = new Map<string, AddressesOptions['accounts'][number]>(
    options.accounts.map((account) => [account.name, account]),
  );
  const { burstSeconds } = shares.address;
  const open = perSecond === null ? unlimited : createBuckets({ perSecond, burstSeconds, monotonic });
  const proving = perSecond === null ? unlimited : createBuckets({ perSecond, burstSeconds, monotonic });
  /** The right last segment of a path. */
  const proven = new Map<string, Buffer>();

  /** Nearly all requests come to few addresses, and a mac takes a quarter of the time of a delivery. So a known one is compared, in constant time. */
  function readProven(key: SubscriptionKey, capability: string, requestHost?: string): string | undefined {
    const generation = capability.slice(0, capability.indexOf('.'));
    const name = `${key.account}/${key.eventType}/${generation}`;
    const [held, given] = [proven.get(name), Buffer.from(capability)];
    if (held?.length === given.length && timingSafeEqual(held, given)) return generation;
    if (readCapability(key, capability, requestHost) === undefined) return undefined;
    if (proven.size >= maxKnown) proven.clear();
    proven.set(name, given);
    return generation;
  }

  return {
    /** The address with this path; null if it is not one of ours, whatever the reason. */
    find(account: string, eventType: string, capability: string, requestHost?: string): Address | null {
      // The mac comes first, so that a refusal takes as long for an unknown account.
      const generation = readProven({ account, eventType } as SubscriptionKey, capability, requestHost);
      const { name, businessId } = accounts.get(account) ?? {};
      if (generation === undefined || name === undefined || !isEventType(eventType)) return null;
      return { account: name, eventType, generation, businessId };
    },

    /** Reserves room for a body of at most so many bytes, before anything is read of it. */
    reserve({ account, eventType, generation }: Address, mostBytes: number): Toll {
      const name = `${account}/${eventType}/${generation}`;
      let cost = costOf(mostBytes);
      const isPaid = open.take(name, cost);
      return {
        isPaid,
        settle(bytes) {
          if (isPaid) open.add(name, costOf(bytes) - cost);
          cost = costOf(bytes);
        },
        addCost(deliveries) {
          if (isPaid) open.add(name, deliveries);
        },
        prove() {
          if (isPaid) open.add(name, -cost);
          return proving.take(name, cost);
        },
      };
    },
  };
}

/** What a body of so many bytes counts as, in deliveries. */
const costOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / shares.address.bytesPerDelivery));
