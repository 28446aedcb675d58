import { type GroupId, groupIdOf, type JournalKey, keysOf } from '../journal/entries.js';
import type { Journal } from '../journal/journal.js';

/** How a call for a group went. `postponed`: it was not the group's fault. */
export type CallResult = 'succeeded' | 'postponed' | 'failed';

/** Which groups are in flight, which wait after a failure, which is next: those that wait longest. */
export interface ForwardPlan {
  /** An entry was made; null: the journal may hold other entries than the plan knows. */
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

/** What is known of the journal's entries, by group. Those that are not known yet are found by `scan`. */
interface ForwardBacklog {
  /** An entry was made behind all others. Gives its group; null: a scan has found it or will, since too much is known. */
  add(key: JournalKey): GroupId | null;
  /** The journal may hold other entries than are known: it is scanned from the front. */
  forget(): void;
  /** There are entries that only a scan finds. */
  isBehind(): boolean;
  /** Takes up the next few hundred entries of the journal and gives their groups. */
  scan(): GroupId[];
  has(id: GroupId): boolean;
  /** The oldest entries of a group, at most 1,000. */
  oldestOf(id: GroupId): JournalKey[];
  /** These, which `oldestOf` gave, are gone. */
  remove(id: GroupId, keys: readonly JournalKey[]): void;
}

const keysPerScan = 500;
/** What one call to Temporal carries. */
const keysPerCall = 1_000;

/** Costs eight bytes of memory per known entry, and a few hundred per group. */
function createBacklog(
  keysAfter: (seq: number, limit: number) => JournalKey[],
  hasRoom: () => boolean,
): ForwardBacklog {
  const groups = new Map<GroupId, number[]>();
  let knownTo = 0; // up to this number all entries are known
  let isBehind = true;

  function know(key: JournalKey): GroupId {
    const id = groupIdOf(key);
    const [seq] = key;
    const seqs = groups.get(id);
    if (seqs) seqs.push(seq);
    else groups.set(id, [seq]);
    knownTo = seq;
    return id;
  }

  return {
    add(key) {
      isBehind ||= !hasRoom();
      const isFound = key[0] <= knownTo; // by a scan, which may see it before we are told
      return isBehind || isFound ? null : know(key);
    },
    forget() {
      groups.clear();
      knownTo = 0;
      isBehind = true;
    },
    isBehind: () => isBehind,
    scan() {
      const keys = keysAfter(knownTo, keysPerScan);
      isBehind = keys.length === keysPerScan;
      return keys.map(know);
    },
    has: (id) => groups.has(id),
    oldestOf: (id) => keysOf(id, groups.get(id)?.slice(0, keysPerCall) ?? []),
    remove(id, keys) {
      const seqs = groups.get(id);
      if (!seqs) return;
      const gone = new Set(keys.map(([seq]) => seq));
      const left = seqs.splice(0, keysPerCall).filter((seq) => !gone.has(seq));
      seqs.unshift(...left);
      if (seqs.length === 0) groups.delete(id);
    },
  };
}

/** Waiting of single groups that failed, while all others go on. */
interface Backoff<Id> {
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
