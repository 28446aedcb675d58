import {
  JournalError,
  type JournaledDelivery,
  type JournalKey,
  seqAfter,
  timeOf,
  toDelivery,
  toValue,
} from './entries.js';
import { type JournalDatabase, prepareFolder } from './file.js';
import { lockJournal } from './lock.js';
import { estimate, type JournalStore, openJournalStore } from './store.js';

export interface JournalOptions {
  folder: string;
  /** Bytes of pages in use. The file may be longer, since it keeps freed pages for reuse. */
  maxBytes: number;
  now?: () => number;
  /** A commit that takes longer makes the journal unwritable until it ends. Default 5 s. */
  stallMs?: number;
  /** The time between attempts while the disk refuses. Default 1 s. */
  retryMs?: number;
}

/** Keeps deliveries on the disk from the 2xx until Temporal has them. */
export interface Journal {
  /** Resolves when the delivery is on the disk. Rejects with a `JournalError`; the ingress must then not answer 2xx. */
  append(delivery: JournaledDelivery): Promise<void>;
  /** The oldest keys behind a number (0: from the front). Throws `JournalUnwritable` while reopening. */
  keysAfter(seq: number, limit: number): JournalKey[];
  /** The entries with the first of these keys, as many as one call carries. Throws `JournalUnwritable` while reopening. */
  read(keys: readonly JournalKey[]): JournalEntry[];
  /** Resolves when the entries are gone from the disk. */
  remove(keys: readonly JournalKey[]): Promise<void>;
  /** Calls the one listener for each entry that reached the disk; with null: the journal may hold entries it did not name. */
  onAppend(listener: (key: JournalKey | null) => void): void;
  /** The number of entries. */
  depth(): number;
  /** Bytes of pages in use. */
  bytes(): number;
  /** When the oldest entry was made, in milliseconds since the epoch; null while empty or being reopened. */
  oldestAt(): number | null;
  /** Why the journal takes no delivery now, without a path; null when it takes one. */
  whyUnwritable(): string | null;
  /** Waits for pending changes. The entries stay for the next start. */
  close(): Promise<void>;
}

const full = 'the journal is full';
/** Ten times what a delivery takes that is not sealed. */
const roomForOne = 4_096;

/** Opens the journal in a folder of its own, made when missing. Throws `JournalError`, which names the setting. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { folder, maxBytes, now = Date.now, stallMs = 5_000, retryMs = 1_000 } = options;
  let tell: (key: JournalKey | null) => void = () => undefined;
  const { store, release } = await openLocked(folder, () =>
    openJournalStore({
      ...{ folder, maxBytes, stallMs, retryMs },
      onCommitted(changes) {
        for (const change of changes) if ('put' in change) tell(change.put);
      },
      onReopened: () => tell(null),
    }),
  );
  let [lastSeq] = edgeKey(store.database(), 'newest') ?? [0];
  let coming = 0; // bytes of pending changes, not yet counted in the size
  const isFull = (more: number) => store.size().bytes + coming + more > maxBytes;

  return {
    async append(delivery) {
      const value = toValue(delivery);
      const bytes = estimate(value.length);
      if (isFull(bytes)) throw new JournalError('JournalFull', full);
      const { account, eventType, orderId } = delivery;
      lastSeq = seqAfter(lastSeq, now());
      coming += bytes;
      try {
        await store.write({ put: [lastSeq, account, eventType, orderId ?? ''], value });
      } finally {
        coming -= bytes;
      }
    },
    remove: (keys) => store.write({ remove: keys }),
    onAppend(listener) {
      tell = listener;
    },
    keysAfter: (seq, limit) => keysAfter(store.database(), seq, limit),
    read: (keys) => readEntries(store.database(), keys),
    depth: () => store.size().entries,
    bytes: () => store.size().bytes,
    oldestAt: () => oldestAt(store),
    whyUnwritable: () => store.trouble() ?? (isFull(roomForOne) ? full : null),
    async close() {
      await store.close();
      await release();
    },
  };
}

function oldestAt(store: JournalStore): number | null {
  if (!store.isReadable()) return null;
  const key = edgeKey(store.database(), 'oldest');
  return key ? timeOf(key) : null;
}

async function openLocked(folder: string, openStore: () => Promise<JournalStore>) {
  await prepareFolder(folder);
  const release = await lockJournal(folder);
  try {
    return { store: await openStore(), release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** One delivery with its key. */
export interface JournalEntry {
  key: JournalKey;
  /** null: the journal no longer has it. */
  delivery: JournaledDelivery | null;
}

/** Bounds what one call to Temporal carries, and so the memory of all calls in flight. */
const maxBytes = 524_288;

/** The oldest keys behind a number, at most `limit`. */
function keysAfter(database: JournalDatabase, seq: number, limit: number): JournalKey[] {
  const start = [seq + 1] as unknown as JournalKey; // before all keys that begin with this number
  return [...database.getKeys({ start, limit })];
}

/** The oldest or the newest key; undefined while the journal is empty. */
function edgeKey(database: JournalDatabase, edge: 'oldest' | 'newest'): JournalKey | undefined {
  const [key] = database.getKeys({ limit: 1, reverse: edge === 'newest' });
  return key;
}

/** The entries with these keys in their order, as many as fit into half a megabyte, but at least one. */
function readEntries(database: JournalDatabase, keys: readonly JournalKey[]): JournalEntry[] {
  const entries: JournalEntry[] = [];
  let bytes = 0;
  for (const key of keys) {
    const value = database.get(key);
    bytes += value?.length ?? 0;
    if (bytes > maxBytes && entries.length > 0) break;
    entries.push({ key, delivery: value ? toDelivery(key, value) : null });
  }
  return entries;
}
