import { open, type RootDatabase } from 'lmdb';
import type { JournalChange } from './commits.js';
import { type JournalKey, reasonOf } from './entries.js';
import { prepareFolder } from './folder.js';

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
