import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { createJournalCommits, type JournalChange, stalled, unwritable } from './journal-commits.js';
import { reasonOf } from './journal-errors.js';
import { prepareFolder } from './journal-folder.js';
import type { JournalKey } from './journal-keys.js';
import { createReserve, NoRoom, type RoomNeeded } from './journal-reserve.js';
import { estimate, isLarge, measure } from './journal-size.js';

/** The library's handle. */
export type JournalDatabase = RootDatabase<Buffer, JournalKey>;

/** The database file under the journal. */
export interface JournalStore {
  /** Resolves when it is on the disk. Rejects with `JournalUnwritable`; then it may still get there. */
  write(change: JournalChange): Promise<void>;
  /** For reading. Throws `JournalUnwritable` while the file is being reopened. */
  database(): JournalDatabase;
  /** Why nothing can be written now. */
  trouble(): string | null;
  /** Waits for what was asked for, but not for a disk that does not answer. */
  close(): Promise<void>;
}

export interface JournalStoreOptions {
  folder: string;
  maxBytes: number;
  /** A commit that takes longer makes the journal unwritable until it ends. */
  stallMs: number;
  retryMs: number;
  /** These changes are on the disk; called before their promises resolve. */
  onCommitted(changes: readonly JournalChange[], database: JournalDatabase): void;
  /** The file was opened anew: after an error nobody knows what of the last commit is in it. */
  onReopened(database: JournalDatabase): Promise<void>;
}

/** Written and removed in one commit. */
const probeKey = ['~probe'] as unknown as JournalKey;

/**
 * Opens the file. After a failed commit it writes nothing more through this handle, since LMDB may have given it up
 * (MDB_PANIC, where the next transaction would never end), but opens the file anew until a commit succeeds. While the disk
 * is full it still removes.
 */
export async function openJournalStore(options: JournalStoreOptions): Promise<JournalStore> {
  const { folder, stallMs, retryMs, onCommitted, onReopened } = options;
  const reserve = createReserve(join(folder, 'data.mdb'));
  let database: JournalDatabase | null = await openDatabase(options);
  let trouble: string | null = null;
  let noRoom: string | null = null;
  let isClosed = false;
  let reopening: Promise<void> | null = null;

  const commits = createJournalCommits({
    stallMs,
    async commit(changes) {
      if (!database) throw unwritable('closed');
      const needed = roomFor(changes);
      if (needed.bytes > 0 || noRoom !== null) await makeRoom(needed, database);
      await commit(database, changes);
      onCommitted(changes, database);
    },
    onFailure(error) {
      if (error instanceof NoRoom) return error.message;
      trouble = reasonOf(error);
      later(() => (reopening = reopen()));
      return trouble;
    },
  });
  const whyNoRemoval = () => (isClosed ? 'closed' : (trouble ?? (commits.isStalled() ? stalled : null)));

  async function makeRoom(needed: RoomNeeded, into: JournalDatabase): Promise<void> {
    try {
      await reserve.ensure(needed, measure(into));
      noRoom = null;
    } catch (error) {
      if (noRoom === null) lookForRoom();
      noRoom = reasonOf(error);
      if (needed.bytes > 0) throw error;
    }
  }

  /** A commit of nothing makes room too. */
  function lookForRoom(): void {
    later(async () => {
      await commits.add({ remove: [] }).catch(() => undefined);
      if (noRoom !== null) lookForRoom();
    });
  }

  function later(act: () => unknown): void {
    setTimeout(() => {
      if (!isClosed) act();
    }, retryMs).unref();
  }

  async function reopen(): Promise<void> {
    try {
      await closeDatabase();
      database = await openDatabase(options);
      await commit(database, [{ put: probeKey, value: Buffer.alloc(1) }, { remove: [probeKey] }]);
      await onReopened(database);
      trouble = null;
    } catch (error) {
      trouble = reasonOf(error);
      later(() => (reopening = reopen()));
    }
  }

  async function closeDatabase(): Promise<void> {
    const old = database;
    database = null;
    await old?.close();
  }

  return {
    async write(change) {
      const why = whyNoRemoval() ?? ('put' in change ? noRoom : null);
      if (why !== null) throw unwritable(why);
      await commits.add(change);
    },
    database() {
      if (!database) throw unwritable(whyNoRemoval() ?? 'closed');
      return database;
    },
    trouble: () => whyNoRemoval() ?? noRoom,
    async close() {
      isClosed = true;
      await commits.settled();
      await reopening;
      if (!commits.isStalled()) await closeDatabase();
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

async function openDatabase({ folder, maxBytes }: JournalStoreOptions): Promise<JournalDatabase> {
  await prepareFolder(folder);
  return open<Buffer, JournalKey>({
    path: folder,
    encoding: 'binary',
    // Only without it does an error of the flush reject the write; and one writer at a time shares flushes anyway.
    overlappingSync: false,
    // With it, each failed commit also rejects a promise that nobody can catch.
    eventTurnBatching: false,
    // Room above our own bound: a removal needs new pages too.
    mapSize: 2 * maxBytes + 2 ** 25,
    noSubdir: false,
    maxDbs: 1,
  });
}

/** All or nothing. */
async function commit(database: JournalDatabase, changes: readonly JournalChange[]): Promise<void> {
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
