import { createAgenda } from './forward-agenda.js';
import { createBackoff } from './forward-backoff.js';
import type { Journal } from './journal.js';
import type { GroupId } from './journal-keys.js';

/** Which groups are in flight, which wait after a failure, which is next. Every group with entries is one of these. */
export interface ForwardPlan {
  /** A group got a delivery; null: any may have. */
  noteAppend(id: GroupId | null): void;
  /** The next one, now in flight. Throws what reading the journal throws; then a walk through it is planned anew. */
  take(): GroupId | undefined;
  /** It is not in flight any more: nothing is left to do for now, it is to go on, or to wait. */
  over(id: GroupId, next: 'rest' | 'goOn' | 'wait'): void;
  inFlight(): number;
  /** Does what is due. */
  tick(): void;
  /** Something will be due. */
  isWaiting(): boolean;
}

/** Groups that are not remembered as waiting are found again after this. */
const forgottenMs = 30_000;
/** The journal could not be read. */
const unreadableMs = 500;

export function createPlan(journal: Pick<Journal, 'groupsAfter'>, now: () => number): ForwardPlan {
  const agenda = createAgenda((after, limit) => journal.groupsAfter(after, limit));
  const backoff = createBackoff<GroupId>({ onForgotten: () => walkAfter(forgottenMs) });
  const inFlight = new Set<GroupId>();
  const gotMore = new Set<GroupId>(); // while in flight
  let walkAt: number | null = null;

  const isTaken = (id: GroupId) => inFlight.has(id) || backoff.isWaiting(id);

  function walkAfter(ms: number): void {
    walkAt = Math.min(walkAt ?? Number.POSITIVE_INFINITY, now() + ms);
  }

  return {
    noteAppend(id) {
      if (id === null) agenda.addAll();
      else if (inFlight.has(id)) gotMore.add(id);
      else if (!backoff.isWaiting(id)) agenda.add(id);
    },
    take() {
      try {
        const id = agenda.next(isTaken);
        if (id !== undefined) inFlight.add(id);
        return id;
      } catch (error) {
        walkAfter(unreadableMs);
        throw error;
      }
    },
    over(id, next) {
      inFlight.delete(id);
      const hasMore = gotMore.delete(id);
      if (next === 'wait') return backoff.failed(id, now());
      if (next === 'rest') backoff.succeeded(id);
      if (next === 'goOn' || hasMore) agenda.add(id);
    },
    inFlight: () => inFlight.size,
    tick() {
      for (const id of backoff.takeDue(now())) agenda.add(id);
      if (walkAt === null || walkAt > now()) return;
      walkAt = null;
      agenda.addAll();
    },
    isWaiting: () => backoff.size() > 0 || walkAt !== null,
  };
}
