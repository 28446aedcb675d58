import { type GroupId, groupIdOf, type JournalKey, keysOf } from './journal-keys.js';

/** What is known of the journal's entries, by group. Those that are not known yet are found by `scan`. */
export interface ForwardBacklog {
  /** An entry was made behind all others. Gives its group; null: a scan has found it or will, since too much is known. */
  add(key: JournalKey): GroupId | null;
  /** Nobody knows what is in the journal: it is scanned from the front. */
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
export function createBacklog(
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
