import { createBacklog } from './forward-backlog.js';
import { createBackoff } from './forward-backoff.js';
import type { Journal } from './journal.js';
import type { GroupId, JournalKey } from './journal-keys.js';

/** How a call for a group went. `postponed`: it was not the group's fault. */
export type CallResult = 'succeeded' | 'postponed' | 'failed';

/** Which groups are in flight, which wait after a failure, which is next: those that wait longest. */
export interface ForwardPlan {
  /** An entry was made; null: nobody knows what is in the journal. */
  noteAppend(key: JournalKey | null): void;
  /** The next group, now in flight. Throws what reading the journal throws; nothing is lost by that. */
  take(): GroupId | undefined;
  /** The oldest entries of a group, as many as a call may carry. */
  oldestOf(id: GroupId): JournalKey[];
  /** These are gone from the journal. */
  noteRemoved(id: GroupId, keys: readonly JournalKey[]): void;
  /** It is not in flight any more. */
  over(id: GroupId, result: CallResult): void;
  inFlight(): number;
  /** Does what is due. */
  tick(): void;
  /** Something will be due. */
  isWaiting(): boolean;
}

/** More that are ready are left to be found in the journal, so that memory stays small however long that is. */
const mostReady = 10_000;
/** The journal is scanned when fewer are ready. */
const enoughReady = 1_000;
/** Of a few hundred entries each: a millisecond or two, since deliveries are taken in the same thread. */
const scansAtOnce = 4;

export function createPlan(journal: Pick<Journal, 'keysAfter'>, now: () => number): ForwardPlan {
  const ready = new Set<GroupId>();
  const inFlight = new Set<GroupId>();
  const backoff = createBackoff<GroupId>();
  const backlog = createBacklog(
    (seq, limit) => journal.keysAfter(seq, limit),
    () => ready.size < mostReady,
  );

  function makeReady(id: GroupId): void {
    if (backlog.has(id) && !inFlight.has(id) && !backoff.isWaiting(id)) ready.add(id);
  }

  function scan(): void {
    for (let scans = 0; scans < scansAtOnce && backlog.isBehind() && ready.size < enoughReady; scans += 1)
      for (const id of backlog.scan()) makeReady(id);
  }

  return {
    noteAppend(key) {
      if (key === null) {
        ready.clear();
        return backlog.forget();
      }
      const id = backlog.add(key);
      if (id !== null) makeReady(id);
    },
    take() {
      scan();
      const [id] = ready;
      if (id === undefined) return undefined;
      ready.delete(id);
      inFlight.add(id);
      return id;
    },
    oldestOf: backlog.oldestOf,
    noteRemoved: backlog.remove,
    over(id, result) {
      inFlight.delete(id);
      if (result === 'failed') backoff.failed(id, now());
      if (result === 'succeeded') backoff.succeeded(id);
      makeReady(id);
    },
    inFlight: () => inFlight.size,
    tick() {
      for (const id of backoff.takeDue(now())) makeReady(id);
    },
    isWaiting: () => backoff.size() > 0 || backlog.isBehind(),
  };
}
