/** Waiting of single groups that failed, while all others go on. */
export interface Backoff<Id> {
  /** It failed (again): it waits, 1 s at first, doubling to 30 s, with jitter. */
  failed(id: Id, now: number): void;
  /** It went well: the next failure is a first one. */
  succeeded(id: Id): void;
  isWaiting(id: Id): boolean;
  /** Those whose wait is over; they count as tried from now on. */
  takeDue(now: number): Id[];
  size(): number;
}

interface Entry {
  failures: number;
  /** Null: its wait is over, and how it went is not known yet. */
  dueAt: number | null;
}

export interface BackoffOptions<Id> {
  /** 0 up to 1. */
  random?: () => number;
  maxGroups?: number;
  /** Groups beyond `maxGroups` are forgotten, so that their owner must find them again. */
  onForgotten(id: Id): void;
}

const firstMs = 1_000;
const longestMs = 30_000;

export function createBackoff<Id>({
  random = Math.random,
  maxGroups = 10_000,
  onForgotten,
}: BackoffOptions<Id>): Backoff<Id> {
  const entries = new Map<Id, Entry>();

  return {
    failed(id, now) {
      const failures = (entries.get(id)?.failures ?? 0) + 1;
      const waitMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10)) * (0.5 + random() / 2);
      entries.delete(id); // to the end: the longest untouched is forgotten first
      entries.set(id, { failures, dueAt: now + waitMs });
      const [oldest] = entries.keys();
      if (entries.size <= maxGroups || oldest === undefined) return;
      entries.delete(oldest);
      onForgotten(oldest);
    },
    succeeded: (id) => void entries.delete(id),
    isWaiting: (id) => typeof entries.get(id)?.dueAt === 'number',
    takeDue(now) {
      const due: Id[] = [];
      for (const [id, entry] of entries) {
        if (entry.dueAt === null || entry.dueAt > now) continue;
        entry.dueAt = null;
        due.push(id);
      }
      return due;
    },
    size: () => entries.size,
  };
}
