import { open, stat } from 'node:fs/promises';
import { FaretrailError } from '../domain/errors.js';
import { reasonOf } from './journal-errors.js';

/** The disk has no room for a commit, found out before LMDB was asked. Nothing is broken: what is there can be removed. */
export class NoRoom extends FaretrailError<'NoRoom'> {
  override readonly name = 'NoRoom';
}

/** What a commit is about to need. */
export interface RoomNeeded {
  /** Of all entries. */
  bytes: number;
  /** Of entries that need neighbouring pages, which freed ones need not be. */
  largeBytes: number;
}

/** Room in the file: freed pages, and what is behind the last page. */
export interface JournalReserve {
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
