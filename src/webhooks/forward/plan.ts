import type { AccountName } from '../../domain/keys.js';
import { type GroupId, groupIdOf, type JournalKey, keysOf } from '../journal/entries.js';
import type { Journal } from '../journal/journal.js';
import { createHeldGroups, type HeldGroups } from './held-groups.js';

/** What a group waits for: fewer new orders or new reports of its account, or fewer parked deliveries. */
const holdReasons = ['newOrders', 'newReports', 'parked'] as const;
type HoldReason = (typeof holdReasons)[number];

const isHoldReason = (result: CallResult): result is HoldReason => holdReasons.some((reason) => reason === result);

/** How much more an account may start or park now. */
export type Room = Readonly<Record<HoldReason, (account: AccountName) => number>>;

/** How many deliveries wait, by reason and account. */
export type HeldDeliveries = Readonly<Record<HoldReason, ReadonlyMap<AccountName, number>>>;

/** The result of a call for a group. `postponed`: an outage was the cause. */
export type CallResult = 'succeeded' | 'postponed' | 'failed' | HoldReason;

/** Knows which groups are in flight and which wait after a failure, and chooses the next one: the one that has waited longest. */
export interface ForwardPlan {
  /** The journal has a new entry; null: it may hold other entries than the plan knows. */
  noteAppend(key: JournalKey | null): void;
  /** The next group, now in flight. Throws if the journal cannot be read; the plan then loses nothing. */
  take(): GroupId | undefined;
  /** The oldest entries of a group, at most 1,000. */
  oldestOf(id: GroupId): JournalKey[];
  /** These entries are gone from the journal. */
  noteRemoved(id: GroupId, keys: readonly JournalKey[]): void;
  /** The group is no longer in flight. */
  over(id: GroupId, result: CallResult): void;
  inFlight(): number;
  /** Makes groups ready whose wait is over. */
  tick(room: Room): void;
  held(): HeldDeliveries;
  /** Will there be more to do later? */
  isWaiting(): boolean;
}

/** A bound for memory. The plan finds further groups in the journal later. */
const mostReady = 10_000;
/** The plan scans the journal when fewer groups are ready. */
const enoughReady = 1_000;
/** These take a millisecond or two. The same thread takes deliveries, so they must not take longer. */
const scansAtOnce = 4;

export function createPlan(journal: Pick<Journal, 'keysAfter'>, now: () => number): ForwardPlan {
  const ready = new Set<GroupId>();
  const inFlight = new Set<GroupId>();
  const backoff = createBackoff<GroupId>();
  const held: Record<HoldReason, HeldGroups> = {
    newOrders: createHeldGroups(),
    newReports: createHeldGroups(),
    parked: createHeldGroups(),
  };
  const backlog = createBacklog(journal, () => ready.size < mostReady);

  function makeReady(id: GroupId): void {
    if (!backlog.has(id) || inFlight.has(id) || backoff.isWaiting(id)) return;
    for (const reason of holdReasons) held[reason].release(id);
    ready.add(id);
  }

  function scan(): void {
    for (let scans = 0; scans < scansAtOnce && backlog.isBehind() && ready.size < enoughReady; scans += 1)
      for (const id of backlog.scan()) makeReady(id);
  }

  return {
    noteAppend(key) {
      if (key === null) {
        ready.clear();
        for (const reason of holdReasons) held[reason].clear();
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
      if (isHoldReason(result)) return held[result].hold(id, backlog.sizeOf(id));
      if (result === 'failed') backoff.failed(id, now());
      if (result === 'succeeded') backoff.succeeded(id);
      makeReady(id);
    },
    inFlight: () => inFlight.size,
    tick(room) {
      const due = holdReasons.flatMap((reason) => held[reason].newest(room[reason]));
      for (const id of [...backoff.takeDue(now()), ...due]) makeReady(id);
    },
    held: () => ({
      newOrders: held.newOrders.counts(),
      newReports: held.newReports.counts(),
      parked: held.parked.counts(),
    }),
    isWaiting: () =>
      backoff.size() > 0 || holdReasons.some((reason) => held[reason].counts().size > 0) || backlog.isBehind(),
  };
}

/** The known entries of the journal, by group. `scan` finds the others. */
interface ForwardBacklog {
  /** Takes the newest entry and gives its group; null: a scan has found the entry, or will find it. */
  add(key: JournalKey): GroupId | null;
  /** The journal may hold other entries than the known ones, so `scan` begins again. */
  forget(): void;
  /** Are there entries that only a scan finds? */
  isBehind(): boolean;
  /** Reads the next entries of the journal and gives their groups. */
  scan(): GroupId[];
  has(id: GroupId): boolean;
  sizeOf(id: GroupId): number;
  oldestOf(id: GroupId): JournalKey[];
  /** These entries, which `oldestOf` gave, are gone. */
  remove(id: GroupId, keys: readonly JournalKey[]): void;
}

const keysPerScan = 500;
/** The most entries that one call to Temporal carries. */
const keysPerCall = 1_000;

/** Costs eight bytes of memory per known entry, and a few hundred per group. */
function createBacklog(journal: Pick<Journal, 'keysAfter'>, hasRoom: () => boolean): ForwardBacklog {
  const groups = new Map<GroupId, number[]>();
  let knownTo = 0; // the number of the last known entry
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
      const isFound = key[0] <= knownTo; // a scan may see the entry before the journal names it
      return isBehind || isFound ? null : know(key);
    },
    forget() {
      groups.clear();
      knownTo = 0;
      isBehind = true;
    },
    isBehind: () => isBehind,
    scan() {
      const keys = journal.keysAfter(knownTo, keysPerScan);
      isBehind = keys.length === keysPerScan;
      return keys.map(know);
    },
    has: (id) => groups.has(id),
    sizeOf: (id) => groups.get(id)?.length ?? 0,
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

/** The waits of single groups after failures. */
interface Backoff<Id> {
  /** The group failed (again): it waits, 1 s at first, doubling to 30 s, with jitter. */
  failed(id: Id, now: number): void;
  /** The group succeeded, so its next failure counts as the first. */
  succeeded(id: Id): void;
  isWaiting(id: Id): boolean;
  /** Gives the groups whose wait is over. They no longer wait. */
  takeDue(now: number): Id[];
  size(): number;
}

interface Entry {
  failures: number;
  /** Null: the wait is over, and the result of the next call is not known yet. */
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
