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

const firstMs = 1_000;
const longestMs = 30_000;

/** `random`: 0 up to 1. */
export function createBackoff<Id>(random: () => number = Math.random): Backoff<Id> {
  const entries = new Map<Id, Entry>();

  return {
    failed(id, now) {
      const failures = (entries.get(id)?.failures ?? 0) + 1;
      const waitMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10)) * (0.5 + random() / 2);
      entries.set(id, { failures, dueAt: now + waitMs });
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
