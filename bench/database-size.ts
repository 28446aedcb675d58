import { existsSync, readFileSync, statSync } from 'node:fs';

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const header = { bytes: 32, pageSize: 8, salts: 16 };
const frame = { bytes: 24, pagesAfterCommit: 4, salts: 8 };
const saltBytes = 8;

/** The size of a SQLite database once its write-ahead log is checkpointed; it may be in use. */
export function databaseBytes(databaseFile: string): number {
  const log = `${databaseFile}-wal`;
  return (existsSync(log) ? committedBytes(readFileSync(log)) : undefined) ?? statSync(databaseFile).size;
}

/** What the last commit in a write-ahead log says of the size of its database; undefined when there is none. */
export function committedBytes(log: Buffer): number | undefined {
  if (log.length < header.bytes) return undefined;
  const pageSize = log.readUInt32BE(header.pageSize);
  const salts = log.subarray(header.salts, header.salts + saltBytes);
  let pages: number | undefined;
  for (let at = header.bytes; at + frame.bytes <= log.length; at += frame.bytes + pageSize) {
    // Frames behind the last one of this round are left over from the round before, under other salts.
    if (!log.subarray(at + frame.salts, at + frame.salts + saltBytes).equals(salts)) break;
    pages = log.readUInt32BE(at + frame.pagesAfterCommit) || pages;
  }
  return pages === undefined ? undefined : pages * pageSize;
}
