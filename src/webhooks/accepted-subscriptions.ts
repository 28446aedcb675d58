import { type AcceptedGeneration, findGeneration, type SubscriptionMemo } from '../domain/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import { createRepeatedRead, type RepeatedRead } from './repeated-read.js';
import { type AcceptedProof, type DeliverySecret, toDeliverySecret } from './verification.js';

/** A memo this old is still used, and read again meanwhile. */
const freshMs = 10_000;
/** Generations known to be gone, for each subscription: a bound for memory, nothing depends on it. */
const maxGone = 100;

/** How a generation stands. `unknown`: Temporal cannot be asked now, so only the address speaks for the delivery. */
export type Standing = AcceptedProof | 'ended' | 'neverSubscribed' | 'unknown';

/** What makes the answer depend on time, in milliseconds since the epoch. */
export interface StandingAt {
  /** When it must be accepted; default now. */
  at?: number;
  /** What was read before this instant is not good enough. */
  readSince?: number;
}

/** What each subscription accepts, kept at hand so that a delivery rarely waits for Temporal. */
export interface AcceptedSubscriptions {
  /** Answers within two seconds, mostly at once. Never rejects. */
  standingOf(key: SubscriptionKey, generation: string, options?: StandingAt): Promise<Standing>;
}

/** What it needs from elsewhere. */
export interface AcceptedSubscriptionsPorts {
  /** The subscription's memo; null when there has never been one. Ends within seconds. */
  read(key: SubscriptionKey): Promise<SubscriptionMemo | null>;
  /** Opens a sealed `secret_id`; `context` is the subscription's id. */
  unseal(sealed: string, context: string): Promise<string>;
  /** A secret of this subscription cannot be opened with our keys. Told once for each. */
  onUnreadable?(key: SubscriptionKey, error: unknown): void;
  now?: () => number;
}

type Proofs = ReadonlyMap<AcceptedGeneration, AcceptedProof>;

/** What a memo says, its secrets opened. */
interface OpenedMemo {
  /** null: there has never been a subscription. */
  memo: SubscriptionMemo | null;
  proofs: Proofs;
}

interface Entry {
  opened: RepeatedRead<OpenedMemo>;
  /** Generations that the memo had lost, and when that was last read. */
  gone: Map<string, number>;
}

/** One cache for a process. */
export function createAcceptedSubscriptions(ports: AcceptedSubscriptionsPorts): AcceptedSubscriptions {
  const { now = Date.now } = ports;
  const entries = new Map<string, Entry>();

  function entryOf(key: SubscriptionKey): Entry {
    const id = subscriptionId(key);
    const held = entries.get(id);
    if (held) return held;
    const entry: Entry = { opened: createRepeatedRead(createMemoReader(key, ports), now), gone: new Map() };
    entries.set(id, entry);
    return entry;
  }

  return {
    async standingOf(key, generation, { at = now(), readSince } = {}) {
      const entry = entryOf(key);
      entry.opened.keepFresh(freshMs);
      const standing = find(entry, generation, at);
      // An end is final, whenever we learned of it.
      if (standing && (standing === 'ended' || readSince === undefined)) return standing;
      if (standing === undefined && isKnownGone(entry, generation, now())) return whyGone(entry);

      const isEnough = (): boolean => readSince === undefined && find(entry, generation, at) !== undefined;
      if (!(await entry.opened.waitForRead({ since: readSince, isEnough }))) return 'unknown';
      const settled = find(entry, generation, at);
      if (settled) return settled;
      rememberGone(entry, generation, now());
      return whyGone(entry);
    },
  };
}

function find({ opened }: Entry, generation: string, at: number): AcceptedProof | 'ended' | undefined {
  const value = opened.latest()?.value;
  if (!value?.memo) return undefined;
  const found = findGeneration(value.memo, generation, at);
  if (typeof found === 'string') return found === 'ended' ? found : undefined;
  return value.proofs.get(found);
}

/** A generation is published before anybody learns its address, so one that a later read lacks does not come (back). */
const whyGone = ({ opened }: Entry): Standing => (opened.latest()?.value.memo ? 'ended' : 'neverSubscribed');

function isKnownGone({ gone }: Entry, generation: string, now: number): boolean {
  const since = gone.get(generation);
  return since !== undefined && now - since <= freshMs;
}

function rememberGone({ gone }: Entry, generation: string, now: number): void {
  if (gone.size >= maxGone) gone.clear();
  gone.set(generation, now);
}

/** Reads a memo and opens its secrets, each only once. */
function createMemoReader(key: SubscriptionKey, { read, unseal, onUnreadable }: AcceptedSubscriptionsPorts) {
  // By sealed text; null for one that our keys do not open.
  let secrets = new Map<string, DeliverySecret | null>();

  async function openSecret(sealed: string): Promise<readonly [string, DeliverySecret | null]> {
    const held = secrets.get(sealed);
    if (held !== undefined) return [sealed, held];
    try {
      return [sealed, toDeliverySecret(await unseal(sealed, subscriptionId(key)))];
    } catch (error) {
      onUnreadable?.(key, error);
      return [sealed, null];
    }
  }

  return async (): Promise<OpenedMemo> => {
    const memo = await read(key);
    const accepted = memo?.accepted ?? [];
    const texts = new Set(accepted.flatMap((generation) => generation.secrets));
    secrets = new Map(await Promise.all([...texts].map(openSecret)));
    return { memo, proofs: new Map(accepted.map((generation) => [generation, toProof(generation, secrets)])) };
  };
}

function toProof(
  { secrets, isSecretLost }: AcceptedGeneration,
  opened: ReadonlyMap<string, DeliverySecret | null>,
): AcceptedProof {
  const readable = secrets.map((sealed) => opened.get(sealed) ?? null).filter((secret) => secret !== null);
  return { secrets: readable, isSecretLost, hasUnreadableSecret: readable.length < secrets.length };
}
