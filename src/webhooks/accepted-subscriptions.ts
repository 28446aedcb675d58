import { type AcceptedGeneration, findGeneration, type SubscriptionMemo } from '../domain/subscription/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import { type AcceptedProof, type DeliverySecret, toDeliverySecret } from './verification.js';

/** The ingress uses an older memo, too, but reads it again meanwhile. */
const freshMs = 1_000;
/** With an older memo a delivery waits for a read, so that an address which a person ends is refused within two seconds. */
const staleMs = 1_500;
/** How long the ingress knows a generation as gone. */
const goneMs = 10_000;
/** The generations of a subscription that the ingress remembers as gone. Only a bound for memory. */
const maxGone = 100;

/** What a generation accepts. `unknown`: Temporal does not answer, so the address is the delivery's only proof. */
export type Acceptance = AcceptedProof | 'ended' | 'neverSubscribed' | 'unknown';

/** Instants, in milliseconds since the epoch. */
interface AcceptanceOptions {
  /** When the generation must be in force; default now. */
  at?: number;
  /** The memo must have been read at this instant or later. */
  readSince?: number;
}

/** What each subscription accepts. Cached, so that a delivery rarely waits for Temporal. */
export interface AcceptedSubscriptions {
  /** Answers within two seconds, mostly at once. Never rejects. */
  acceptanceOf(key: SubscriptionKey, generation: string, options?: AcceptanceOptions): Promise<Acceptance>;
}

interface AcceptedSubscriptionsPorts {
  /** Reads the subscription's memo; null if the subscription never existed. Ends within seconds. */
  read(key: SubscriptionKey): Promise<SubscriptionMemo | null>;
  /** Opens a sealed `secret_id`; `context` is the subscription's id. */
  unseal(sealed: string, context: string): Promise<string>;
  /** Our keys do not open a secret of this subscription. Called once for each secret. */
  onUnreadable?(key: SubscriptionKey, error: unknown): void;
  now?: () => number;
}

type Proofs = ReadonlyMap<AcceptedGeneration, AcceptedProof>;

/** A memo with its secrets opened. */
interface OpenedMemo {
  /** null: the subscription never existed. */
  memo: SubscriptionMemo | null;
  proofs: Proofs;
}

interface Entry {
  opened: RepeatedRead<OpenedMemo>;
  /** Generations that the memo no longer holds, and when the ingress last read that. */
  gone: Map<string, number>;
  /** Generations that the ingress has accepted. A memo that lacks one of them says that it has ended. */
  known: Set<string>;
}

/** One cache for a process. */
export function createAcceptedSubscriptions(ports: AcceptedSubscriptionsPorts): AcceptedSubscriptions {
  const { now = Date.now } = ports;
  const entries = new Map<string, Entry>();

  function entryOf(key: SubscriptionKey): Entry {
    const id = subscriptionId(key);
    const held = entries.get(id);
    if (held) return held;
    const entry: Entry = {
      opened: createRepeatedRead(createMemoReader(key, ports), now),
      gone: new Map(),
      known: new Set(),
    };
    entries.set(id, entry);
    return entry;
  }

  return {
    async acceptanceOf(key, generation, { at = now(), readSince } = {}) {
      const entry = entryOf(key);
      entry.opened.keepFresh(freshMs);
      const acceptance = find(entry, generation, at);
      // An end is final, so an old memo may tell it.
      if (acceptance === 'ended') return acceptance;
      if (acceptance && readSince === undefined) {
        entry.known.add(generation);
        // While Temporal does not answer, an old memo is better than none.
        await entry.opened.waitForRead({ since: now() - staleMs });
        return find(entry, generation, at) ?? whyGone(entry);
      }
      if (acceptance === undefined && readSince === undefined && entry.known.has(generation)) return whyGone(entry);
      const goneAt = entry.gone.get(generation) ?? Number.NEGATIVE_INFINITY;
      if (acceptance === undefined && now() - goneAt <= goneMs) return whyGone(entry);

      const isEnough = (): boolean => readSince === undefined && find(entry, generation, at) !== undefined;
      if (!(await entry.opened.waitForRead({ since: readSince, isEnough }))) return 'unknown';
      const settled = find(entry, generation, at);
      if (settled) return settled;
      if (entry.gone.size >= maxGone) entry.gone.clear();
      entry.gone.set(generation, now());
      return whyGone(entry);
    },
  };
}

function find({ opened }: Entry, generation: string, at: number): AcceptedProof | 'ended' | undefined {
  const { memo, proofs } = opened.latest() ?? {};
  if (!memo) return undefined;
  const found = findGeneration(memo, generation, at);
  if (typeof found === 'string') return found === 'ended' ? found : undefined;
  return proofs?.get(found);
}

/** The run publishes a generation before the service gets its address, so a generation that a later memo lacks never comes. */
const whyGone = ({ opened }: Entry): Acceptance => (opened.latest()?.memo ? 'ended' : 'neverSubscribed');

/** Reads a memo, and opens each secret once. */
function createMemoReader(key: SubscriptionKey, { read, unseal, onUnreadable }: AcceptedSubscriptionsPorts) {
  // By sealed text; null for a secret that our keys do not open.
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

/** The shortest time between the starts of two reads. */
const minIntervalMs = 1_000;
/** The longest time that a delivery waits for a read. */
const maxWaitMs = 2_000;

/** The cached result of a read, which runs once at a time and not too often. */
interface RepeatedRead<T> {
  latest(): T | undefined;
  /** Reads again in the background if the latest value is older than this. */
  keepFresh(maxAgeMs: number): void;
  /**
   * Waits for a value whose read begins from now on, or since the instant `since`. Takes the value of an earlier read if
   * `isEnough` is true. False: there is no such value.
   * Ends within `maxWaitMs` and never rejects. Waits no longer once a read has failed, and not at all if the last read failed.
   */
  waitForRead(options: { since?: number | undefined; isEnough?: () => boolean }): Promise<boolean>;
}

/** `read` ends within seconds. Its failures are not reported: the caller decides what to do without a value. */
function createRepeatedRead<T>(read: () => Promise<T>, now: () => number): RepeatedRead<T> {
  let latest: { value: T; readAt: number; turn: number } | undefined;
  let pending: Promise<void> | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let turn = 0; // several reads may begin in one millisecond
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
        continue; // another caller may have read meanwhile
      }
      const reading = pending ?? start();
      if (wasFailing) return;
      await reading;
      if (isFailing) return;
    }
  }

  return {
    latest: () => latest?.value,
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
