import { type AcceptedGeneration, findGeneration, type SubscriptionMemo } from '../domain/subscription/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import { type AcceptedProof, type DeliverySecret, toDeliverySecret } from './verification.js';

/** A memo this old is still used, and read again meanwhile. */
const freshMs = 10_000;
/** Generations known to be gone, for each subscription: a bound for memory, nothing depends on it. */
const maxGone = 100;

/** What a generation accepts. `unknown`: Temporal does not answer now, so only the address speaks for the delivery. */
export type Acceptance = AcceptedProof | 'ended' | 'neverSubscribed' | 'unknown';

/** What makes the answer depend on time, in milliseconds since the epoch. */
interface AcceptanceOptions {
  /** When it must be accepted; default now. */
  at?: number;
  /** What was read before this instant is not good enough. */
  readSince?: number;
}

/** What each subscription accepts, cached so that a delivery rarely waits for Temporal. */
export interface AcceptedSubscriptions {
  /** Answers within two seconds, mostly at once. Never rejects. */
  acceptanceOf(key: SubscriptionKey, generation: string, options?: AcceptanceOptions): Promise<Acceptance>;
}

/** What it needs from elsewhere. */
interface AcceptedSubscriptionsPorts {
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
    async acceptanceOf(key, generation, { at = now(), readSince } = {}) {
      const entry = entryOf(key);
      entry.opened.keepFresh(freshMs);
      const acceptance = find(entry, generation, at);
      // An end is final, whenever we learned of it.
      if (acceptance && (acceptance === 'ended' || readSince === undefined)) return acceptance;
      if (acceptance === undefined && isKnownGone(entry, generation, now())) return whyGone(entry);

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
const whyGone = ({ opened }: Entry): Acceptance => (opened.latest()?.value.memo ? 'ended' : 'neverSubscribed');

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

/** Two reads begin at least this far apart, whatever comes in. */
const minIntervalMs = 1_000;
/** The longest that anybody waits for a read. */
const maxWaitMs = 2_000;

/** The last value that was read, and when that read began, in milliseconds since the epoch. */
interface ReadValue<T> {
  value: T;
  readAt: number;
}

/** A cached value that lives elsewhere: read one at a time, and not too often. */
interface RepeatedRead<T> {
  latest(): ReadValue<T> | undefined;
  /** Reads again in the background when the latest value is older than this. */
  keepFresh(maxAgeMs: number): void;
  /**
   * Waits for a value whose read begins from now on; with `since`, at that instant or later. False: there is none. An
   * earlier read does too when `isEnough` says so.
   * Ends within `maxWaitMs` and never rejects. When a read fails it waits for no other, and while the last one has
   * failed it does not wait at all.
   */
  waitForRead(options: { since?: number | undefined; isEnough?: () => boolean }): Promise<boolean>;
}

/** `read` ends within seconds. Failures are not told: what to do without a value is the caller's to decide. */
function createRepeatedRead<T>(read: () => Promise<T>, now: () => number): RepeatedRead<T> {
  let latest: (ReadValue<T> & { turn: number }) | undefined;
  let pending: Promise<void> | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let turn = 0; // tells reads apart that begin in one millisecond
  let isFailing = false; // the last read failed, or is overdue

  const pauseMs = (): number => triedAt + minIntervalMs - now();

  function start(): Promise<void> {
    const begun = { readAt: now(), turn: ++turn };
    triedAt = begun.readAt;
    pending = read()
      .then(
        (value) => {
          latest = { value, ...begun };
          isFailing = false;
        },
        () => {
          isFailing = true;
        },
      )
      .finally(() => {
        pending = undefined;
      });
    return pending;
  }

  async function readUntil(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      const wasFailing = isFailing;
      if (!pending && pauseMs() > 0) {
        if (wasFailing) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs()));
        continue; // another waiter may have read meanwhile
      }
      const reading = pending ?? start();
      if (wasFailing) return;
      await reading;
      if (isFailing) return;
    }
  }

  return {
    latest: () => latest,
    keepFresh(maxAgeMs) {
      if (latest && now() - latest.readAt > maxAgeMs && !pending && pauseMs() <= 0) void start();
    },
    async waitForRead({ since, isEnough = () => false }) {
      const before = turn;
      const isNew = ({ readAt, turn: read }: { readAt: number; turn: number }): boolean =>
        since === undefined ? read > before : readAt >= since;
      const isReached = (): boolean => latest !== undefined && (isNew(latest) || isEnough());
      if (isReached()) return true;
      let limit: NodeJS.Timeout | undefined;
      const overdue = new Promise<void>((resolve) => {
        limit = setTimeout(() => {
          isFailing = true;
          resolve();
        }, maxWaitMs);
      });
      await Promise.race([readUntil(isReached), overdue]);
      clearTimeout(limit);
      return isReached();
    },
  };
}
