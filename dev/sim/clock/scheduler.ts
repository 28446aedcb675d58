/** Runs callbacks on a virtual clock, in an order that depends only on the seed. */
export class Scheduler {
  /** Milliseconds since the epoch. */
  now: number;
  /** Hash of the trace: the same for the same seed. */
  hash = 0x811c9dc5;
  readonly random: () => number;
  readonly #startedAt: number;
  readonly #due = new Heap();
  #made = 0;
  /** The trace; null unless it is kept. */
  readonly #lines: string[] | null;

  constructor(seed: number, { at = defaultStart, keepsTrace = false }: { at?: number; keepsTrace?: boolean } = {}) {
    this.now = at;
    this.#startedAt = at;
    this.random = createRandom(seed);
    this.#lines = keepsTrace ? [] : null;
  }

  /** Milliseconds since the start. */
  get elapsed(): number {
    return this.now - this.#startedAt;
  }

  get trace(): readonly string[] {
    return this.#lines ?? [];
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** A random integer from `from` to `to - 1`. */
  between(from: number, to: number): number {
    return Math.floor(from + this.random() * (to - from));
  }

  pick<T>(of: readonly [T, ...T[]]): T {
    return of[this.between(0, of.length)] as T;
  }

  note(line: string): void {
    const text = `${this.elapsed} ${line}`;
    for (let at = 0; at < text.length; at += 1)
      this.hash = Math.imul(this.hash ^ text.charCodeAt(at), 16_777_619) >>> 0;
    this.#lines?.push(text);
  }

  /** Runs `act` after `ms` milliseconds. The seed decides the order of callbacks due at the same time. */
  after(ms: number, act: () => void | Promise<void>): void {
    this.#made += 1;
    this.#due.add({ at: this.now + Math.max(0, Math.ceil(ms)), tie: this.random(), number: this.#made, act });
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Runs until no callback is left, `forMs` have passed, or `isOver` returns true. */
  async run(forMs: number, isOver: () => boolean = () => false): Promise<void> {
    const until = this.now + forMs;
    await settled();
    while (!isOver()) {
      const next = this.#due.first;
      if (!next || next.at > until) break;
      this.#due.take();
      this.now = next.at;
      await next.act();
      await settled();
    }
    if (!isOver()) this.now = Math.max(this.now, Math.min(until, this.#due.first?.at ?? until));
  }
}

const defaultStart = Date.UTC(2026, 4, 1, 8);
const macrotask = setImmediate;
/** Resolves once all pending microtasks have run. */
const settled = (): Promise<void> => new Promise((resolve) => macrotask(resolve));

/** A generator of numbers from 0 to 1 (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Due {
  at: number;
  tie: number;
  number: number;
  act: () => void | Promise<void>;
}

const isBefore = (one: Due, other: Due): boolean =>
  one.at !== other.at ? one.at < other.at : one.tie !== other.tie ? one.tie < other.tie : one.number < other.number;

/** A binary heap with the earliest entry first. */
class Heap {
  readonly #all: Due[] = [];

  get first(): Due | undefined {
    return this.#all[0];
  }

  add(one: Due): void {
    const all = this.#all;
    let at = all.push(one) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = all[above] as Due;
      if (!isBefore(one, other)) break;
      all[at] = other;
      at = above;
    }
    all[at] = one;
  }

  take(): void {
    const all = this.#all;
    const last = all.pop();
    if (!last || all.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= all.length) break;
      if (below + 1 < all.length && isBefore(all[below + 1] as Due, all[below] as Due)) below += 1;
      const other = all[below] as Due;
      if (!isBefore(other, last)) break;
      all[at] = other;
      at = below;
    }
    all[at] = last;
  }
}
