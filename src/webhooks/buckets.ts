import type { MonotonicClock } from '../clock.js';

/** A bound for memory. There are few accounts, and few addresses of one at a time. */
const maxKnown = 1_000;

/** See `createBuckets`. */
export interface Buckets {
  /** False: this name has used up its share. */
  take(name: string, deliveries: number): boolean;
  add(name: string, deliveries: number): void;
}

/** Any number. */
export const unlimited: Buckets = { take: () => true, add: () => undefined };

interface BucketOptions {
  perSecond: number;
  /** What a name may take at once, after it was quiet for so long. */
  burstSeconds: number;
  monotonic: MonotonicClock;
}

/** A token bucket for each name, of deliveries. */
export function createBuckets({ perSecond, burstSeconds, monotonic }: BucketOptions): Buckets {
  /** When a name may take a whole burst again. This instant says all about its bucket (the generic cell rate algorithm). */
  const fullAt = new Map<string, number>();
  const burstMs = burstSeconds * 1_000;

  function move(name: string, deliveries: number, at: number): number {
    return Math.max(fullAt.get(name) ?? 0, at) + (deliveries * 1_000) / perSecond;
  }

  function set(name: string, next: number): void {
    if (fullAt.size >= maxKnown && !fullAt.has(name)) fullAt.clear();
    fullAt.set(name, next);
  }

  return {
    take(name, deliveries) {
      const at = monotonic();
      const next = move(name, deliveries, at);
      if (next - at > burstMs) return false;
      set(name, next);
      return true;
    },
    add(name, deliveries) {
      const at = monotonic();
      // Nobody owes more than a burst: the first delivery after a flood is taken as soon as the share has grown by one.
      set(name, Math.min(move(name, deliveries, at), at + burstMs));
    },
  };
}
