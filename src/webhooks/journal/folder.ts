import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RootDatabase } from 'lmdb';
import { FaretrailError } from '../../domain/errors.js';

type JournalErrorCode = 'JournalFull' | 'JournalUnwritable' | 'JournalInUse';

/**
 * The journal cannot take a delivery, so the ingress must not answer 2xx. `JournalFull`: the journal has reached its limit
 * until the ingress forwards some of it. `JournalUnwritable`: the disk refuses, and the journal tries again. `JournalInUse`:
 * another process has the journal. Not for a delivery that Temporal does not take: that one is safe in the journal.
 */
export class JournalError extends FaretrailError<JournalErrorCode> {
  override readonly name = 'JournalError';
}

/** Says what a disk refused, without a path. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown disk error';
  if (error instanceof FaretrailError) return error.message;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code; // Node's message would hold the path
  return error.message.split(/[:\n]/)[0] ?? 'unknown disk error';
}

/** LMDB's mark, in the header of its first page. */
const magic = { value: 0xbeefc0de, offset: 24 };
/** Two pages of the smallest size. A shorter file is an unfinished new one and holds no entry. */
const shortestFile = 8_192;
/** More than LMDB needs to open a file, and enough to notice that a full disk has room again. */
const probeBytes = 262_144;

/** The disk has no room. The ingress can still forward what the journal holds. */
const fullDiskCodes: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/**
 * Makes the folder, and checks whether LMDB can open its file: if it cannot, LMDB ends the process. Throws
 * `JournalUnwritable`, which names the setting.
 */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    await tryToWrite(join(folder, 'probe'));
  } catch (error) {
    const isFull = fullDiskCodes.includes((error as NodeJS.ErrnoException).code);
    if (!isFull || !(await hasJournal(folder))) throw unusable(reasonOf(error));
  }
  await checkFile(join(folder, 'data.mdb'));
}

/** With its parents. Node would try for ever to make all of them at once where the system refuses the last (as in /proc). */
async function makeFolder(folder: string): Promise<void> {
  // What is there and no folder shows when it is written to.
  const unlessThere = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EEXIST') throw error;
  };
  await mkdir(dirname(resolve(folder)), { recursive: true, mode: 0o700 }).catch(unlessThere);
  await mkdir(folder, { mode: 0o700 }).catch(unlessThere);
}

/** LMDB needs no room to open its two files if both exist. */
async function hasJournal(folder: string): Promise<boolean> {
  const sizeOf = async (name: string) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
  return (await sizeOf('data.mdb')) >= shortestFile && (await sizeOf('lock.mdb')) > 0;
}

async function tryToWrite(path: string): Promise<void> {
  const writing = writeFile(path, Buffer.alloc(probeBytes), { flush: true });
  await writing.finally(() => rm(path, { force: true }).catch(() => undefined));
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found || found.size === 0) return;
  if (found.size < shortestFile) return await rm(path);
  const file = await open(path, 'r+').catch((error: unknown) => {
    throw unusable(reasonOf(error));
  });
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(magic.offset + 4), position: 0 });
    if (buffer.readUInt32LE(magic.offset) !== magic.value) throw unusable('data.mdb in it is not a journal');
  } finally {
    await file.close();
  }
}

const unusable = (why: string): JournalError =>
  new JournalError('JournalUnwritable', `FARETRAIL_JOURNAL_DIR: the folder cannot be used (${why})`);

/** The longest path of a socket: 104 bytes on macOS, 108 on Linux, with the final zero. */
const longestPath = 100;
/** Longer than another process needs to replace a dead socket that it found. */
const settleMs = 50;

/**
 * Takes a folder for this process alone, and gives the function that releases it. The lock is a listening socket. The system
 * closes it with its process, also on kill -9, and it works between containers that share the folder, unlike a pid. Throws
 * `JournalInUse`.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = socketPath(folder);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const server = await listen(path);
    if (server) {
      if (attempt > 0) await refuseUnlessSettled(path);
      return () => close(server);
    }
    if (await isAnswered(path)) break;
    await unlink(path).catch(() => undefined); // a killed process left it
  }
  throw new JournalError('JournalInUse', 'FARETRAIL_JOURNAL_DIR: another process has this journal; give each its own');
}

function socketPath(folder: string): string {
  const absolute = join(resolve(folder), 'lock');
  const [shortest = absolute] = [absolute, relative('', absolute)].sort((a, b) => a.length - b.length);
  if (Buffer.byteLength(shortest) <= longestPath) return shortest;
  return join(tmpdir(), `faretrail-${createHash('sha256').update(absolute).digest('hex').slice(0, 16)}.lock`);
}

/** Undefined if the socket exists already, alive or not. */
async function listen(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    const listening = once(server, 'listening');
    server.listen(path);
    await listening;
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

/** Also when it cannot be asked, for want of a right or since too many ask: only a refusal shows that its process is dead. */
async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}

/** Two processes may both find the dead socket. The one whose new socket the other removed gives way. */
async function refuseUnlessSettled(path: string): Promise<void> {
  const inode = async () => (await stat(path).catch(() => undefined))?.ino;
  const mine = await inode();
  await sleep(settleMs);
  if (mine === undefined || mine !== (await inode()))
    throw new JournalError('JournalInUse', 'FARETRAIL_JOURNAL_DIR: another process took this journal just now');
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}

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

/** What a commit needs beside its entries: copies of inner pages, and room for removals from a full disk. */
const margin = { pages: 2 ** 21, tail: 2 ** 18 };
/** Of pages that are free, or behind the last one: a removal copies some. A file that was compacted or restored may have none. */
const roomForRemoval = 2 ** 18;
const growBy = 2 ** 21;
const zeros = Buffer.alloc(2 ** 18);

/**
 * Makes the function that takes room from the disk before LMDB needs it for values of so many bytes, to detect a full disk: a write that
 * fails inside LMDB damages the memory of the process (lmdb 3.5.6 writes a message that is longer than its buffer). Call it between commits
 * only, since it writes behind the last page. It throws `NoRoom`.
 */
export function createReserve(path: string) {
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

  return async (valueBytes: readonly number[], file: JournalSize): Promise<void> => {
    const bytes = estimateAll(valueBytes);
    // They need neighbouring pages, which freed pages may not be.
    const largeBytes = estimateAll(valueBytes.filter(isLarge));
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

const estimateAll = (valueBytes: readonly number[]): number =>
  valueBytes.reduce((sum, length) => sum + estimate(length), 0);
