import type { RootDatabase } from 'lmdb';

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
export interface JournalSize {
  entries: number;
  /** Of pages in use, without freed ones. */
  bytes: number;
  /** Where the last page ends, in bytes. */
  end: number;
}

export const emptySize: JournalSize = { entries: 0, bytes: 0, end: 0 };

/** In microseconds, however much there is. */
export function measure(database: Pick<RootDatabase, 'getStats'>): JournalSize {
  const counts = database.getStats() as PageCounts;
  const pages = counts.treeBranchPageCount + counts.treeLeafPageCount + counts.overflowPages;
  const { pageSize, entryCount, lastPageNumber } = counts;
  return { entries: entryCount, bytes: pages * pageSize, end: (lastPageNumber + 1) * pageSize };
}

/** Does a value of so many bytes get neighbouring pages of its own? */
export const isLarge = (valueBytes: number): boolean => valueBytes > pageBytes / 2 - bytesPerEntry;

/** Bytes that an entry will take. */
export function estimate(valueBytes: number): number {
  return bytesPerEntry + (isLarge(valueBytes) ? Math.ceil((valueBytes + 16) / pageBytes) * pageBytes : valueBytes);
}
