import {
  type AcceptedGeneration,
  findGeneration,
  numberOfGeneration,
  type SubscriptionMemo,
} from '../domain/subscription/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import { type AcceptedProof, type DeliverySecret, toDeliverySecret } from './verification.js';

/** The shortest time between the starts of two reads of a memo. While deliveries come it is read so often. */
const readEveryMs = 1_000;
/** A delivery waits for a read where the memo is older, so that an address which a person ends is refused within two seconds. */
export const memoLifetimeMs = 1_500;
/** A delivery waits no longer for a read. */
const longestWaitMs = 1_000;

/** What a generation accepts. `unknown`: Temporal does not answer, so the address is the delivery's only proof. */
export type Acceptance = AcceptedProof | 'ended' | 'neverSubscribed' | 'unknown';

/** Instants, in milliseconds since the epoch. */
interface AcceptanceOptions {
  /** When the generation must be in force; default now. */
  at?: number;
  /** The memo must have been read at this instant or later. Otherwise an old one counts, too, while Temporal does not answer. */
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

/** One cache for a process. */
export function createAcceptedSubscriptions(ports: AcceptedSubscriptionsPorts): AcceptedSubscriptions {
  const { now = Date.now } = ports;
  const memos = new Map<string, CachedMemo>();

  function memoOf(key: SubscriptionKey): CachedMemo {
    const id = subscriptionId(key);
    const memo = memos.get(id) ?? createCachedMemo(createMemoReader(key, ports), now);
    memos.set(id, memo);
    return memo;
  }

  return {
    async acceptanceOf(key, generation, { at = now(), readSince } = {}) {
      const cameAt = now();
      const memo = memoOf(key);
      memo.refresh();
      const isFresh = await memo.isReadSince(readSince ?? cameAt - memoLifetimeMs);
      if (!isFresh && readSince !== undefined) return 'unknown';
      const known = memo.find(generation, at);
      if (known !== undefined) return known;
      if (!(await memo.isReadSince(readSince ?? cameAt))) return 'unknown';
      return memo.find(generation, at) ?? memo.ruleOut(generation);
    },
  };
}

/** A memo with its secrets opened. */
interface OpenedMemo {
  /** null: the subscription never existed. */
  memo: SubscriptionMemo | null;
  proofs: ReadonlyMap<AcceptedGeneration, AcceptedProof>;
}

/** The memo of one subscription as it was last read. */
interface CachedMemo {
  /** Reads again in the background, at most once in `readEveryMs`. */
  refresh(): void;
  /** Is the memo from a read that began at this instant or later? Waits for one within two seconds, but not where the last read failed. */
  isReadSince(since: number): boolean | Promise<boolean>;
  /** Undefined: the generation may be newer than the memo. */
  find(generation: string, at: number): Acceptance | undefined;
  /** The run publishes a generation before the service gets its address. So one that a memo lacks which was read after a delivery to it came
   *  never comes, nor does an older one. */
  ruleOut(generation: string): Acceptance;
}

const never = Number.NEGATIVE_INFINITY;

/** `open` ends within seconds. Its failures are not reported: a delivery can do without a memo. */
function createCachedMemo(open: () => Promise<OpenedMemo>, now: () => number): CachedMemo {
  let opened: OpenedMemo = { memo: null, proofs: new Map() };
  let readAt = never;
  let triedAt = never;
  let pending: Promise<void> | undefined;
  let isFailing = false; // the last read failed, or is overdue
  let publishedTo = 0; // up to this number all generations were published that ever will be

  const pauseMs = (): number => triedAt + readEveryMs - now();
  const whyGone = (): Acceptance => (opened.memo ? 'ended' : 'neverSubscribed');

  function read(): Promise<void> {
    const begunAt = now();
    triedAt = begunAt;
    const reading = open().then(
      (value) => {
        [opened, readAt, isFailing] = [value, begunAt, false];
        for (const { generation } of value.memo?.accepted ?? [])
          publishedTo = Math.max(publishedTo, numberOfGeneration(generation));
      },
      () => {
        isFailing = true;
      },
    );
    pending = new Promise((resolve) => {
      const overdue = setTimeout(() => {
        isFailing = true;
        resolve();
      }, longestWaitMs);
      void reading.then(() => {
        clearTimeout(overdue);
        pending = undefined;
        resolve();
      });
    });
    return pending;
  }

  async function waitForRead(since: number): Promise<boolean> {
    while (readAt < since) {
      if (isFailing) return false; // the next delivery looks again
      if (!pending && pauseMs() > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs()));
      else await (pending ?? read());
    }
    return true;
  }

  return {
    refresh() {
      if (!pending && pauseMs() <= 0) void read();
    },
    isReadSince: (since) => readAt >= since || waitForRead(since),
    find(generation, at) {
      const found = opened.memo ? findGeneration(opened.memo, generation, at) : 'unknown';
      if (found === 'ended') return found;
      if (found !== 'unknown') return opened.proofs.get(found);
      return numberOfGeneration(generation) <= publishedTo ? whyGone() : undefined;
    },
    ruleOut(generation) {
      publishedTo = Math.max(publishedTo, numberOfGeneration(generation));
      return whyGone();
    },
  };
}

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
