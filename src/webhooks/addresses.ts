import { timingSafeEqual } from 'node:crypto';
import type { AccountName } from '../domain/keys.js';
import { type EventType, isEventType } from '../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';

/** One of our addresses. */
export interface Address extends SubscriptionKey {
  generation: string;
  businessId?: string | undefined;
}

interface KnownAddress {
  address: Address;
  /** The last segment of its path. */
  capability: Buffer;
  /** When it may send a whole burst again. This instant says all about its token bucket (the generic cell rate algorithm). */
  fullAt: number;
}

export interface AddressesOptions {
  accounts: readonly { name: AccountName; businessId?: string }[];
  /** Reads the last segment of a path: the generation, if its mac is ours. Takes as long for a wrong mac. */
  readCapability(key: SubscriptionKey, capability: string): string | undefined;
  /** What an address may send; null: any number. */
  perSecond: number | null;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** What an address may send at once, after it was quiet for so long. A sender that had an outage repeats what it could not send. */
const burstSeconds = 60;
/** A bound for memory. An account has few addresses at a time. */
const maxKnown = 1_000;

/** Our addresses, and a token bucket for each, in the memory of this process. */
export function createAddresses(options: AddressesOptions) {
  const { readCapability, perSecond, now = () => performance.now() } = options;
  const accounts = new Map<string, AddressesOptions['accounts'][number]>(
    options.accounts.map((account) => [account.name, account]),
  );
  const known = new Map<string, KnownAddress>();
  const nameOf = ({ account, eventType, generation }: Address): string => `${account}/${eventType}/${generation}`;

  return {
    /** The address with this path; null if it is not one of ours, whatever the reason. */
    find(account: string, eventType: string, capability: string): Address | null {
      // Nearly all requests come to few addresses, so a known mac is compared instead of computed, and in constant time. Account, event type and
      // generation are no secrets.
      const name = `${account}/${eventType}/${capability.slice(0, capability.indexOf('.'))}`;
      const held = known.get(name);
      const given = Buffer.from(capability);
      if (held && held.capability.length === given.length && timingSafeEqual(held.capability, given))
        return held.address;
      // The mac comes first, so that a refusal takes as long for an unknown account.
      const generation = readCapability(
        { account: account as AccountName, eventType: eventType as EventType },
        capability,
      );
      const { name: accountName, businessId } = accounts.get(account) ?? {};
      if (generation === undefined || accountName === undefined || !isEventType(eventType)) return null;
      if (known.size >= maxKnown && !held) known.clear();
      const address = { account: accountName, eventType, generation, businessId };
      known.set(name, { address, capability: given, fullAt: held?.fullAt ?? 0 });
      return address;
    },

    /** Counts a delivery; false: the address has sent too many. */
    take(address: Address): boolean {
      const held = known.get(nameOf(address));
      if (perSecond === null || !held) return true;
      const at = now();
      const next = Math.max(held.fullAt, at) + 1_000 / perSecond;
      if (next - at > burstSeconds * 1_000) return false;
      held.fullAt = next;
      return true;
    },
  };
}
