import { monotonicMs, wallMs } from '../clock.js';
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

interface AcceptanceOptions {
  /** When the generation must be in force, in milliseconds since the epoch; default now. */
  at?: number;
  /** Maximum age of the memo, in milliseconds. Without it an old memo also counts while Temporal does not answer. */
  readWithinMs?: number;
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
}

/** One cache for a process. */
export function createAcceptedSubscriptions(ports: AcceptedSubscriptionsPorts): AcceptedSubscriptions {
  const memos = new Map<string, CachedMemo>();

  /** `key` may be an arrival with more fields: only its own go on to the thread that reads, which takes plain data alone. */
  function memoOf({ account, eventType }: SubscriptionKey): CachedMemo {
    const key = { account, eventType };
    const id = subscriptionId(key);
    const memo = memos.get(id) ?? new CachedMemo(key, ports);
    memos.set(id, memo);
    return memo;
  }

  return {
    async acceptanceOf(key, generation, { at = wallMs(), readWithinMs } = {}) {
      const cameAt = monotonicMs();
      const readSince = readWithinMs === undefined ? undefined : cameAt - readWithinMs;
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

/** The memo of one subscription as it was last read, with its secrets opened. */
class CachedMemo {
  readonly #key: SubscriptionKey;
  readonly #ports: AcceptedSubscriptionsPorts;
  /** null: the subscription never existed. */
  #memo: SubscriptionMemo | null = null;
  /** By sealed text; null for a secret that our keys do not open. */
  #secrets = new Map<string, DeliverySecret | null>();
  #readAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #pending: Promise<void> | undefined;
  /** The last read failed, or is overdue. */
  #isFailing = false;
  /** Up to this number all generations were published that ever will be. */
  #publishedTo = 0;

  constructor(key: SubscriptionKey, ports: AcceptedSubscriptionsPorts) {
    this.#key = key;
    this.#ports = ports;
  }

  /** Reads again in the background, at most once in `readEveryMs`. */
  refresh(): void {
    if (!this.#pending && this.#pauseMs() <= 0) void this.#read();
  }

  /**
   * Is the memo from a read that began at this monotonic moment or later? Waits up to two seconds for one, unless the
   * last read failed.
   */
  async isReadSince(since: number): Promise<boolean> {
    while (this.#readAt < since) {
      if (this.#isFailing) return false; // the next delivery looks again
      if (!this.#pending && this.#pauseMs() > 0) await sleep(this.#pauseMs());
      else await (this.#pending ?? this.#read());
    }
    return true;
  }

  /** Undefined: the generation may be newer than the memo. */
  find(generation: string, at: number): Acceptance | undefined {
    const found = this.#memo ? findGeneration(this.#memo, generation, at) : 'unknown';
    if (found === 'ended') return found;
    if (found !== 'unknown') return this.#proofOf(found);
    return numberOfGeneration(generation) <= this.#publishedTo ? this.#whyGone() : undefined;
  }

  /** The run publishes a generation before the service gets its address. So one that a memo lacks which was read after a delivery to it came
   *  never comes, nor does an older one. */
  ruleOut(generation: string): Acceptance {
    this.#publishedTo = Math.max(this.#publishedTo, numberOfGeneration(generation));
    return this.#whyGone();
  }

  #pauseMs = (): number => this.#triedAt + readEveryMs - monotonicMs();

  #whyGone = (): Acceptance => (this.#memo ? 'ended' : 'neverSubscribed');

  #proofOf({ secrets, isSecretLost, verified }: AcceptedGeneration): AcceptedProof {
    const readable = secrets.map((sealed) => this.#secrets.get(sealed) ?? null).filter((secret) => secret !== null);
    const hasUnreadableSecret = readable.length < secrets.length;
    return { secrets: readable, isSecretLost, hasUnreadableSecret, verified: verified ?? null };
  }

  /** One read. Resolves at its end, or after `longestWaitMs`. Its failures are not reported: a delivery can do without a memo. */
  #read(): Promise<void> {
    this.#triedAt = monotonicMs();
    const reading = this.#open(this.#triedAt).then(
      () => false,
      () => true,
    );
    this.#pending = new Promise((resolve) => {
      const overdue = setTimeout(() => {
        this.#isFailing = true;
        resolve();
      }, longestWaitMs);
      void reading.then((isFailing) => {
        clearTimeout(overdue);
        [this.#isFailing, this.#pending] = [isFailing, undefined];
        resolve();
      });
    });
    return this.#pending;
  }

  async #open(begunAt: number): Promise<void> {
    const memo = await this.#ports.read(this.#key);
    const accepted = memo?.accepted ?? [];
    const texts = new Set(accepted.flatMap((generation) => generation.secrets));
    this.#secrets = new Map(await Promise.all([...texts].map((sealed) => this.#openSecret(sealed))));
    [this.#memo, this.#readAt] = [memo, begunAt];
    for (const { generation } of accepted)
      this.#publishedTo = Math.max(this.#publishedTo, numberOfGeneration(generation));
  }

  /** Opens each secret once. */
  async #openSecret(sealed: string): Promise<readonly [string, DeliverySecret | null]> {
    const held = this.#secrets.get(sealed);
    if (held !== undefined) return [sealed, held];
    const { unseal, onUnreadable } = this.#ports;
    try {
      return [sealed, toDeliverySecret(await unseal(sealed, subscriptionId(this.#key)))];
    } catch (error) {
      onUnreadable?.(this.#key, error);
      return [sealed, null];
    }
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
