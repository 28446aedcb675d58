import { mkdir, open as openFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import type { JournalChange } from './commits.js';
import { JournalError, type JournalKey, reasonOf } from './entries.js';

/** The library's handle. */
export type JournalDatabase = RootDatabase<Buffer, JournalKey>;

/** The database file. It reopens itself after an error. */
export interface JournalFile {
  /** Null while reopening. */
  database(): JournalDatabase | null;
  /** A commit failed, so the file reopens. Gives the reason of the failure. */
  broke(error: unknown): string;
  /** Why the file is not usable; null while it is. */
  trouble(): string | null;
  close(): Promise<void>;
}

export interface JournalFileOptions {
  folder: string;
  maxBytes: number;
  /** The time between attempts to reopen. */
  retryMs: number;
  /** Makes room for a commit after reopening. Rejects if there is none: the file then reopens again. */
  makeRoom(database: JournalDatabase): Promise<void>;
  /** Called after reopening. The file may then hold any part of the last commit. */
  onReopened(database: JournalDatabase): void;
}

/** Put and removed in one commit. */
const probeKey = ['~probe'] as unknown as JournalKey;

/**
 * Opens the file. After a failed commit LMDB may be in a state in which the next transaction never ends (MDB_PANIC), so the
 * file reopens until a commit succeeds.
 */
export async function openJournalFile(options: JournalFileOptions): Promise<JournalFile> {
  let database: JournalDatabase | null = await openDatabase(options);
  let trouble: string | null = null;
  let isClosed = false;
  let reopening: Promise<void> | null = null;

  function broke(error: unknown): string {
    trouble = reasonOf(error);
    setTimeout(() => {
      if (!isClosed) reopening = reopen();
    }, options.retryMs).unref();
    return trouble;
  }

  async function reopen(): Promise<void> {
    try {
      await closeDatabase();
      database = await openDatabase(options);
      await options.makeRoom(database);
      await commit(database, [{ put: probeKey, value: Buffer.alloc(1) }, { remove: [probeKey] }]);
      trouble = null;
      options.onReopened(database);
    } catch (error) {
      broke(error);
    }
  }

  async function closeDatabase(): Promise<void> {
    const old = database;
    database = null;
    await old?.close();
  }

  return {
    database: () => database,
    broke,
    trouble: () => trouble,
    async close() {
      isClosed = true;
      await reopening;
      await closeDatabase();
    },
  };
}

async function openDatabase({ folder, maxBytes }: JournalFileOptions): Promise<JournalDatabase> {
  await prepareFolder(folder);
  return open<Buffer, JournalKey>({
    path: folder,
    encoding: 'binary',
    // With it, an error of the flush would not reject the write. One writer at a time needs no overlapping.
    overlappingSync: false,
    // With it, each failed commit also rejects a promise that no code can catch.
    eventTurnBatching: false,
    // Room above our own bound, since a removal needs new pages, too.
    mapSize: 2 * maxBytes + 2 ** 25,
    noSubdir: false,
    maxDbs: 1,
  });
}

/** Writes all changes or none. Resolves when they are on the disk. */
export async function commit(database: JournalDatabase, changes: readonly JournalChange[]): Promise<void> {
  if (changes.every((change) => 'remove' in change && change.remove.length === 0)) return;
  try {
    await database.batch(() => {
      for (const change of changes) {
        if ('put' in change) void database.put(change.put, change.value);
        else for (const key of change.remove) void database.remove(key);
      }
    });
  } catch (error) {
    throw await causeOf(error);
  }
}

/** The library rejects with a general error, which carries a promise of the cause. */
async function causeOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<unknown> };
  if (!commitError) return error;
  return await commitError.then(
    () => error,
    (cause: unknown) => cause,
  );
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
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await tryToWrite(join(folder, 'probe'));
  } catch (error) {
    const isFull = fullDiskCodes.includes((error as NodeJS.ErrnoException).code);
    if (!isFull || !(await hasJournal(folder))) throw unusable(reasonOf(error));
  }
  await checkFile(join(folder, 'data.mdb'));
}

/** LMDB needs no room to open its two files if both exist. */
async function hasJournal(folder: string): Promise<boolean> {
  const sizeOf = async (name: string) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
  return (await sizeOf('data.mdb')) >= shortestFile && (await sizeOf('lock.mdb')) > 0;
}

async function tryToWrite(path: string): Promise<void> {
  const file = await openFile(path, 'w');
  try {
    await file.writeFile(Buffer.alloc(probeBytes));
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found || found.size === 0) return;
  if (found.size < shortestFile) return await rm(path);
  const file = await openFile(path, 'r+').catch((error: unknown) => {
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
