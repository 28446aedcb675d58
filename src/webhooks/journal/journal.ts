import { type WallClock, wallMs } from '../../clock.js';
import type { Delivery, ParkReason } from '../../domain/delivery.js';
import { type JournalDatabase, JournalDisk, type JournalDiskOptions, type JournalKey } from './disk.js';
import { estimate, JournalError, lockFolder, prepareFolder } from './folder.js';
import { createJournalShares, type JournalSharesOptions } from './shares.js';

export interface JournalOptions {
  folder: string;
  /** Bytes of pages in use. The file may be longer, since it keeps freed pages for reuse. */
  maxBytes: number;
  /** How accounts share it. Default: they do not. */
  shares?: JournalSharesOptions;
  now?: WallClock;
  /** A commit that takes longer makes the journal unwritable until it ends. Default 5 s. */
  stallMs?: number;
  /** The time between attempts while the disk refuses. Default 1 s. */
  retryMs?: number;
}

/** One delivery with its key. */
export interface JournalEntry {
  key: JournalKey;
  /** null: the journal no longer has it. */
  delivery: Delivery | null;
}

/** Keeps deliveries on the disk from the 2xx until Temporal has them. */
export type Journal = Awaited<ReturnType<typeof openJournal>>;

const full = 'the journal is full';
const shareIsFull = 'the account has used up its share of the journal';
/** Ten times what a delivery takes that is not sealed. */
const roomForOne = 4_096;

/** Opens the journal in a folder of its own, made when missing. Throws `JournalError`, which names the setting. */
export async function openJournal(options: JournalOptions) {
  const { folder, maxBytes, now = wallMs, stallMs = 5_000, retryMs = 1_000 } = options;
  let tell: (key: JournalKey | null) => void = () => undefined;
  const { disk, release } = await openLocked({
    ...{ folder, maxBytes, stallMs, retryMs },
    onPut: (key) => tell(key),
    onReopened: () => tell(null),
  });
  let [lastSeq] = edgeKey(disk.database(), 'newest') ?? [0];
  let coming = 0; // bytes of pending changes, not yet counted in the size
  const freeBytes = () => maxBytes - disk.size().bytes - coming;
  const shares = createJournalShares(options.shares ?? { isShared: false, hasProofs: false });
  const count = ([, account]: JournalKey, value: Buffer, change: 'came' | 'gone'): void =>
    shares.count({ account, ...shareOf(value) }, estimate(value.length), change);
  for (const { key, value } of disk.database().getRange({})) count(key, value, 'came');

  return {
    /** Resolves when the delivery is on the disk. Rejects with a `JournalError`; the ingress must then not answer 2xx. */
    async append(delivery: Delivery): Promise<void> {
      const { account, eventType, orderId, isProven, parkReason, ...rest } = delivery;
      const value = Buffer.from(JSON.stringify({ isProven, parkReason, ...rest })); // see `shareOf`
      const bytes = estimate(value.length);
      if (bytes > freeBytes()) throw new JournalError('JournalFull', full);
      if (!shares.hasRoom(delivery, bytes, freeBytes())) throw new JournalError('JournalFull', shareIsFull);
      lastSeq = seqAfter(lastSeq, now());
      const key: JournalKey = [lastSeq, account, eventType, orderId ?? ''];
      coming += bytes;
      count(key, value, 'came');
      try {
        await disk.write({ put: key, value });
      } catch (error) {
        count(key, value, 'gone');
        throw error;
      } finally {
        coming -= bytes;
      }
    },
    /** Resolves when the entries are gone from the disk. */
    async remove(keys: readonly JournalKey[]): Promise<void> {
      const entries = disk.isReadable() ? keys.map((key) => [key, disk.database().get(key)] as const) : [];
      await disk.write({ remove: keys });
      for (const [key, value] of entries) if (value) count(key, value, 'gone');
    },
    /** Calls the one listener for each entry that reached the disk; with null: the journal may hold entries it did not name. */
    onAppend(listener: (key: JournalKey | null) => void): void {
      tell = listener;
    },
    /** The oldest keys behind a number (0: from the front). Throws `JournalUnwritable` while reopening. */
    keysAfter(seq: number, limit: number): JournalKey[] {
      const start = [seq + 1] as unknown as JournalKey; // before all keys that begin with this number
      return [...disk.database().getKeys({ start, limit })];
    },
    /** The entries with the first of these keys, as many as one call carries. Throws `JournalUnwritable` while reopening. */
    read: (keys: readonly JournalKey[]): JournalEntry[] => readEntries(disk.database(), keys),
    heldOf: shares.heldOf,
    /** The number of entries. */
    depth: (): number => disk.size().entries,
    /** Bytes of pages in use. */
    bytes: (): number => disk.size().bytes,
    /** When the oldest entry was made, in milliseconds since the epoch; null while empty or being reopened. */
    oldestAt(): number | null {
      const [seq] = (disk.isReadable() && edgeKey(disk.database(), 'oldest')) || [];
      return seq === undefined ? null : Math.floor(seq / seqPerMs);
    },
    /** Why the journal takes no delivery now, without a path; null when it takes one. */
    whyUnwritable: (): string | null => disk.whyUnwritable() ?? (freeBytes() < roomForOne ? full : null),
    /** Waits for pending changes. The entries stay for the next start. */
    async close(): Promise<void> {
      await disk.close();
      await release();
    },
  };
}

async function openLocked(options: JournalDiskOptions) {
  await prepareFolder(options.folder);
  const release = await lockFolder(options.folder);
  try {
    return { disk: await JournalDisk.open(options), release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Numbers per millisecond. Those of the year 2200 are still below the largest exact integer. */
const seqPerMs = 1_024;

/** The next number. It never repeats, even if the clock goes back. */
const seqAfter = (last: number, nowMs: number): number => Math.max(last + 1, nowMs * seqPerMs);

/** The oldest or the newest key; undefined while the journal is empty. */
function edgeKey(database: JournalDatabase, edge: 'oldest' | 'newest'): JournalKey | undefined {
  const [key] = database.getKeys({ limit: 1, reverse: edge === 'newest' });
  return key;
}

/** Bounds what one call to Temporal carries, and so the memory of all calls in flight. */
const mostBytesRead = 524_288;

/** The entries with these keys in their order, as many as fit into half a megabyte, but at least one. */
function readEntries(database: JournalDatabase, keys: readonly JournalKey[]): JournalEntry[] {
  const entries: JournalEntry[] = [];
  let bytes = 0;
  for (const key of keys) {
    const value = database.get(key);
    bytes += value?.length ?? 0;
    if (bytes > mostBytesRead && entries.length > 0) break;
    entries.push({ key, delivery: value ? toDelivery(key, value) : null });
  }
  return entries;
}

const valueStart = /^\{("isProven":true,)?("parkReason":"([A-Za-z]+)")?/;

/** Whose share the entry takes, without parsing it all. Entries of earlier releases begin otherwise, and count as unproven. */
function shareOf(value: Buffer): Pick<Delivery, 'isProven' | 'parkReason'> {
  const [, isProven, , parkReason] = valueStart.exec(value.toString('latin1', 0, 100)) ?? [];
  return { ...(isProven && { isProven: true }), ...(parkReason && { parkReason: parkReason as ParkReason }) };
}

type Kept = Omit<Delivery, 'account' | 'eventType' | 'orderId'>;

/** The value holds what the key does not. */
function toDelivery([, account, eventType, orderId]: JournalKey, value: Buffer): Delivery {
  const { uncheckedEvents, ...kept } = JSON.parse(value.toString()) as Kept & { uncheckedEvents?: unknown };
  const delivery: Delivery = { account, eventType, orderId: orderId === '' ? null : orderId, ...kept };
  // An ingress between 0.2.0 and 0.3.0 meant to take this body apart, after its check. A person has to do that.
  return uncheckedEvents === undefined ? delivery : { ...delivery, parkReason: 'ambiguousBody' };
}
