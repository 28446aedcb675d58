import { existsSync, readFileSync, statSync } from 'node:fs';

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const header = { bytes: 32, pageSize: 8, salts: 16 };
const frame = { bytes: 24, pagesAfterCommit: 4, salts: 8 };
const saltBytes = 8;

/** The size that a SQLite database has after a checkpoint of its write-ahead log. The database may be in use. */
export function databaseBytes(databaseFile: string): number {
  const log = `${databaseFile}-wal`;
  return (existsSync(log) ? committedBytes(readFileSync(log)) : undefined) ?? statSync(databaseFile).size;
}

/** The size of the database by the last commit in its write-ahead log; undefined if the log has no commit. */
export function committedBytes(log: Buffer): number | undefined {
  if (log.length < header.bytes) return undefined;
  const pageSize = log.readUInt32BE(header.pageSize);
  const salts = log.subarray(header.salts, header.salts + saltBytes);
  let pages: number | undefined;
  for (let at = header.bytes; at + frame.bytes <= log.length; at += frame.bytes + pageSize) {
    // Frames behind the last one of this round are from the previous round and have other salts.
    if (!log.subarray(at + frame.salts, at + frame.salts + saltBytes).equals(salts)) break;
    pages = log.readUInt32BE(at + frame.pagesAfterCommit) || pages;
  }
  return pages === undefined ? undefined : pages * pageSize;
}
