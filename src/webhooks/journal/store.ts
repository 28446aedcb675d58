import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { FaretrailError } from '../../domain/errors.js';
import { createJournalCommits, type JournalChange, stalled, unwritable } from './commits.js';
import { reasonOf } from './entries.js';
import { commit, type JournalDatabase, openJournalFile } from './file.js';

/** The journal's file and the disk under it. */
export interface JournalStore {
  /** Resolves when the change is on the disk. Rejects with `JournalUnwritable`; the change may then still reach the disk. */
  write(change: JournalChange): Promise<void>;
  /** For reading. Throws `JournalUnwritable` while reopening. */
  database(): JournalDatabase;
  /** `database` does not throw. */
  isReadable(): boolean;
  /** After the last commit. */
  size(): JournalSize;
  /** Why the store cannot write a delivery now; null when it can. */
  trouble(): string | null;
  /** Waits for pending changes, but not for a disk that does not answer. */
  close(): Promise<void>;
}

interface JournalStoreOptions {
  folder: string;
  maxBytes: number;
  /** A commit that takes longer makes the journal unwritable until it ends. */
  stallMs: number;
  /** The time between attempts while the disk refuses. */
  retryMs: number;
  /** Called when these changes are on the disk, before their promises resolve. */
  onCommitted(changes: readonly JournalChange[]): void;
  /** Called after reopening. The file may then hold any part of the last commit. */
  onReopened(): void;
}

/** Writes to the file, and tries again while the disk refuses. Removes entries on a full disk, too. */
export async function openJournalStore(options: JournalStoreOptions): Promise<JournalStore> {
  const { folder, stallMs, retryMs, onCommitted } = options;
  let size: JournalSize = { entries: 0, bytes: 0, end: 0 };
  let noRoom: string | null = null;
  let isClosed = false;
  const reserve = createReserve(join(folder, 'data.mdb'));
  const file = await openJournalFile({
    ...options,
    makeRoom: (database) => makeRoom({ bytes: 0, largeBytes: 0 }, measure(database)),
    onReopened(database) {
      size = measure(database);
      options.onReopened();
    },
  });
  const opened = file.database();
  if (opened) size = measure(opened);

  const commits = createJournalCommits({
    stallMs,
    async commit(changes) {
      const database = file.database();
      if (!database) throw unwritable('closed');
      await makeRoom(roomFor(changes), size);
      await commit(database, changes);
      size = measure(database);
      onCommitted(changes);
    },
    onFailure: (error) => (error instanceof NoRoom ? error.message : file.broke(error)),
  });
  const whyNoRemoval = () => (isClosed ? 'closed' : (file.trouble() ?? (commits.isStalled() ? stalled : null)));

  /** Rejects if LMDB must not write now. */
  async function makeRoom(needed: RoomNeeded, held: JournalSize): Promise<void> {
    try {
      await reserve(needed, held);
      noRoom = null;
    } catch (error) {
      if (noRoom === null) lookForRoom();
      noRoom = reasonOf(error);
      if (needed.bytes > 0 || !(error instanceof NoRoom && error.allowsRemovals)) throw error;
    }
  }

  /** A commit of nothing makes room too. */
  function lookForRoom(): void {
    setTimeout(async () => {
      if (isClosed) return;
      if (file.trouble() === null) await commits.add({ remove: [] }).catch(() => undefined); // reopening makes room, too
      if (noRoom !== null) lookForRoom();
    }, retryMs).unref();
  }

  return {
    async write(change) {
      const why = whyNoRemoval() ?? ('put' in change ? noRoom : null);
      if (why !== null) throw unwritable(why);
      await commits.add(change);
    },
    database() {
      const database = file.database();
      if (!database) throw unwritable(whyNoRemoval() ?? 'closed');
      return database;
    },
    isReadable: () => file.database() !== null,
    size: () => size,
    trouble: () => whyNoRemoval() ?? noRoom,
    async close() {
      isClosed = true;
      await commits.settled();
      if (!commits.isStalled()) await file.close();
    },
  };
}

function roomFor(changes: readonly JournalChange[]): RoomNeeded {
  const needed = { bytes: 0, largeBytes: 0 };
  for (const change of changes) {
    if (!('put' in change)) continue;
    const bytes = estimate(change.value.length);
    needed.bytes += bytes;
    if (isLarge(change.value.length)) needed.largeBytes += bytes;
  }
  return needed;
}

/** The disk has no room for a commit, and LMDB has not written yet. */
class NoRoom extends FaretrailError<'NoRoom'> {
  override readonly name = 'NoRoom';
  /** The file itself has room enough for a removal. */
  readonly allowsRemovals: boolean;

  constructor(cause: unknown, allowsRemovals: boolean) {
    super('NoRoom', reasonOf(cause), { cause });
    this.allowsRemovals = allowsRemovals;
  }
}

/** What a commit needs. */
interface RoomNeeded {
  /** Of all entries. */
  bytes: number;
  /** Of entries that need neighbouring pages, which freed pages may not be. */
  largeBytes: number;
}

/** Makes room in the file, between commits only, since it writes behind the last page. Throws `NoRoom`. */
type JournalReserve = (needed: RoomNeeded, file: Pick<JournalSize, 'bytes' | 'end'>) => Promise<void>;

/** What a commit needs beside its entries: copies of inner pages, and room for removals from a full disk. */
const margin = { pages: 2 ** 21, tail: 2 ** 18 };
/** Of pages that are free, or behind the last one: a removal copies some. A file that was compacted or restored may have none. */
const roomForRemoval = 2 ** 18;
const growBy = 2 ** 21;
const zeros = Buffer.alloc(2 ** 18);

/**
 * Takes room from the disk before LMDB needs it, to detect a full disk. A write that fails inside LMDB damages the memory of the
 * process (lmdb 3.5.6 writes a message that is longer than its buffer).
 */
function createReserve(path: string): JournalReserve {
  let size = 0; // at least

  async function grow(to: number): Promise<void> {
    ({ size } = await stat(path));
    const file = await open(path, 'r+');
    try {
      while (size < to) {
        const { bytesWritten } = await file.write(zeros, 0, zeros.length, size);
        size += bytesWritten;
      }
    } finally {
      await file.close();
    }
  }

  return async ({ bytes, largeBytes }, file) => {
    const wanted = Math.max(file.bytes + bytes + margin.pages, file.end + largeBytes + margin.tail);
    if (size >= wanted) return;
    try {
      await grow(wanted + growBy);
    } catch (error) {
      if (size < wanted) throw new NoRoom(error, size >= file.bytes + roomForRemoval);
    }
  };
}

interface PageCounts {
  pageSize: number;
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
  entryCount: number;
  lastPageNumber: number;
}

/** About what an entry takes beside its value: its key, its header, and its share of pages that are not full. */
const bytesPerEntry = 250;
const pageBytes = 4_096;

/** How much a journal holds. */
interface JournalSize {
  entries: number;
  /** Of pages in use, without freed ones. */
  bytes: number;
  /** Where the last page ends, in bytes. */
  end: number;
}

/** Takes microseconds, whatever the size. */
function measure(database: Pick<RootDatabase, 'getStats'>): JournalSize {
  const counts = database.getStats() as PageCounts;
  const pages = counts.treeBranchPageCount + counts.treeLeafPageCount + counts.overflowPages;
  const { pageSize, entryCount, lastPageNumber } = counts;
  return { entries: entryCount, bytes: pages * pageSize, end: (lastPageNumber + 1) * pageSize };
}

/** Does a value of so many bytes get neighbouring pages of its own? */
const isLarge = (valueBytes: number): boolean => valueBytes > pageBytes / 2 - bytesPerEntry;

/** The bytes that an entry will take. */
export function estimate(valueBytes: number): number {
  return bytesPerEntry + (isLarge(valueBytes) ? Math.ceil((valueBytes + 16) / pageBytes) * pageBytes : valueBytes);
}
