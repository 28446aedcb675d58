import { open, type RootDatabase } from 'lmdb';
import type { JournalChange } from './commits.js';
import type { JournalKey } from './entries.js';
import { reasonOf } from './entries.js';
import { prepareFolder } from './folder.js';

/** The library's handle. */
export type JournalDatabase = RootDatabase<Buffer, JournalKey>;

/** The database file, opened again after an error. */
export interface JournalFile {
  /** Null while it is being opened again. */
  database(): JournalDatabase | null;
  /** A commit failed: nothing more is written through this handle. Gives the reason. */
  broke(error: unknown): string;
  /** Why it is unusable; null while it is not. */
  trouble(): string | null;
  close(): Promise<void>;
}

export interface JournalFileOptions {
  folder: string;
  maxBytes: number;
  /** Between attempts to open it again. */
  retryMs: number;
  /** It was opened again, and may hold any part of the last commit. */
  onReopened(database: JournalDatabase): void;
}

/** Written and removed in one commit. */
const probeKey = ['~probe'] as unknown as JournalKey;

/**
 * Opens the file. After a failed commit LMDB may have given it up (MDB_PANIC, where the next transaction would never
 * end), so it is opened again until a commit succeeds.
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
    // Only without it does an error of the flush reject the write; and one writer at a time shares flushes anyway.
    overlappingSync: false,
    // With it, each failed commit also rejects a promise that no code can catch.
    eventTurnBatching: false,
    // Room above our own bound: a removal needs new pages too.
    mapSize: 2 * maxBytes + 2 ** 25,
    noSubdir: false,
    maxDbs: 1,
  });
}

/** All or nothing, and on the disk when it resolves. */
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

/** The library rejects with a general error that carries a promise of the true one. */
async function causeOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<unknown> };
  if (!commitError) return error;
  return await commitError.then(
    () => error,
    (cause: unknown) => cause,
  );
}
