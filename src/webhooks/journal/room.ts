import { open, stat } from 'node:fs/promises';
import type { RootDatabase } from 'lmdb';
import { FaretrailError } from '../../domain/errors.js';
import { reasonOf } from './folder.js';

/** The disk has no room for a commit, and LMDB has not written yet. */
export class NoRoom extends FaretrailError<'NoRoom'> {
  override readonly name = 'NoRoom';
  /** The file itself has room enough for a removal. */
  readonly allowsRemovals: boolean;

  constructor(cause: unknown, allowsRemovals: boolean) {
    super('NoRoom', reasonOf(cause), { cause });
    this.allowsRemovals = allowsRemovals;
  }
}

/** What a commit needs. */
export interface RoomNeeded {
  /** Of all entries. */
  bytes: number;
  /** Of entries that need neighbouring pages, which freed pages may not be. */
  largeBytes: number;
}

/** What a commit of so large values needs. */
export function roomFor(valueBytes: readonly number[]): RoomNeeded {
  const needed = { bytes: 0, largeBytes: 0 };
  for (const length of valueBytes) {
    needed.bytes += estimate(length);
    if (isLarge(length)) needed.largeBytes += estimate(length);
  }
  return needed;
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
export function createReserve(path: string): JournalReserve {
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
export interface JournalSize {
  entries: number;
  /** Of pages in use, without freed ones. */
  bytes: number;
  /** Where the last page ends, in bytes. */
  end: number;
}

/** Takes microseconds, whatever the size. */
export function measure(database: Pick<RootDatabase, 'getStats'>): JournalSize {
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
