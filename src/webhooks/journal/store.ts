import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { FaretrailError } from '../../domain/errors.js';
import { createJournalCommits, type JournalChange, stalled, unwritable } from './commits.js';
import { reasonOf } from './entries.js';
import { commit, type JournalDatabase, openJournalFile } from './file.js';

/** The disk under the journal. */
export interface JournalStore {
  /** Resolves when it is on the disk. Rejects with `JournalUnwritable`; then it may still get there. */
  write(change: JournalChange): Promise<void>;
  /** For reading. Throws `JournalUnwritable` while the file is being opened again. */
  database(): JournalDatabase;
  /** `database` does not throw. */
  isReadable(): boolean;
  /** After the last commit. */
  size(): JournalSize;
  /** Why no delivery can be written now. */
  trouble(): string | null;
  /** Waits for what was asked for, but not for a disk that does not answer. */
  close(): Promise<void>;
}

interface JournalStoreOptions {
  folder: string;
  maxBytes: number;
  /** A commit that takes longer makes the journal unwritable until it ends. */
  stallMs: number;
  /** How often a refusing disk is tried again. */
  retryMs: number;
  /** These changes are on the disk; called before their promises resolve. */
  onCommitted(changes: readonly JournalChange[]): void;
  /** The file was opened again, and may hold any part of the last commit. */
  onReopened(): void;
}

/** Writes to the file and gets over what the disk refuses. On a full disk it still removes. */
export async function openJournalStore(options: JournalStoreOptions): Promise<JournalStore> {
  const { folder, stallMs, retryMs, onCommitted } = options;
  let size = emptySize;
  const file = await openJournalFile({
    ...options,
    onReopened(database) {
      size = measure(database);
      options.onReopened();
    },
  });
  const opened = file.database();
  if (opened) size = measure(opened);
  const reserve = createReserve(join(folder, 'data.mdb'));
  let noRoom: string | null = null;
  let isClosed = false;

  const commits = createJournalCommits({
    stallMs,
    async commit(changes) {
      const database = file.database();
      if (!database) throw unwritable('closed');
      const needed = roomFor(changes);
      if (needed.bytes > 0 || noRoom !== null) await makeRoom(needed);
      await commit(database, changes);
      size = measure(database);
      onCommitted(changes);
    },
    onFailure: (error) => (error instanceof NoRoom ? error.message : file.broke(error)),
  });
  const whyNoRemoval = () => (isClosed ? 'closed' : (file.trouble() ?? (commits.isStalled() ? stalled : null)));

  async function makeRoom(needed: RoomNeeded): Promise<void> {
    try {
      await reserve.ensure(needed, size);
      noRoom = null;
    } catch (error) {
      if (noRoom === null) lookForRoom();
      noRoom = reasonOf(error);
      if (needed.bytes > 0) throw error;
    }
  }

  /** A commit of nothing makes room too. */
  function lookForRoom(): void {
    setTimeout(async () => {
      if (isClosed) return;
      await commits.add({ remove: [] }).catch(() => undefined);
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

/** The disk has no room for a commit, noticed before LMDB writes. Nothing is broken: entries can still be removed. */
class NoRoom extends FaretrailError<'NoRoom'> {
  override readonly name = 'NoRoom';
}

/** What a commit is about to need. */
interface RoomNeeded {
  /** Of all entries. */
  bytes: number;
  /** Of entries that need neighbouring pages, which freed ones need not be. */
  largeBytes: number;
}

/** Room in the file: freed pages, and what is behind the last page. */
interface JournalReserve {
  /** Makes room. Only between commits, since it writes behind the last page. Throws `NoRoom`. */
  ensure(needed: RoomNeeded, file: { bytes: number; end: number }): Promise<void>;
}

/** What a commit needs beside its entries: copies of the pages on the way to them; and for removals from a full disk. */
const margin = { pages: 2 ** 21, tail: 2 ** 18 };
const growBy = 2 ** 21;
const zeros = Buffer.alloc(2 ** 18);

/**
 * Takes room from the disk ahead of LMDB. A write that fails inside LMDB damages the memory of the process (its message
 * is longer than the buffer it is written to, lmdb 3.5.6), so a full disk must be noticed here.
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

  return {
    async ensure({ bytes, largeBytes }, file) {
      const wanted = Math.max(file.bytes + bytes + margin.pages, file.end + largeBytes + margin.tail);
      if (size >= wanted) return;
      try {
        await grow(wanted + growBy);
      } catch (error) {
        if (size < wanted) throw new NoRoom('NoRoom', reasonOf(error), { cause: error });
      }
    },
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

/** What an entry costs beside its value, about: its key, its header, and its share of pages that are not full. */
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

const emptySize: JournalSize = { entries: 0, bytes: 0, end: 0 };

/** In microseconds, however much there is. */
function measure(database: Pick<RootDatabase, 'getStats'>): JournalSize {
  const counts = database.getStats() as PageCounts;
  const pages = counts.treeBranchPageCount + counts.treeLeafPageCount + counts.overflowPages;
  const { pageSize, entryCount, lastPageNumber } = counts;
  return { entries: entryCount, bytes: pages * pageSize, end: (lastPageNumber + 1) * pageSize };
}

/** Does a value of so many bytes get neighbouring pages of its own? */
const isLarge = (valueBytes: number): boolean => valueBytes > pageBytes / 2 - bytesPerEntry;

/** Bytes that an entry will take. */
export function estimate(valueBytes: number): number {
  return bytesPerEntry + (isLarge(valueBytes) ? Math.ceil((valueBytes + 16) / pageBytes) * pageBytes : valueBytes);
}
