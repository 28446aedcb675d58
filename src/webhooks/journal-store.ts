import { join } from 'node:path';
import { createJournalCommits, type JournalChange, stalled, unwritable } from './journal-commits.js';
import { reasonOf } from './journal-errors.js';
import { commit, type JournalDatabase, openJournalFile } from './journal-file.js';
import { createReserve, NoRoom, type RoomNeeded } from './journal-reserve.js';
import { emptySize, estimate, isLarge, type JournalSize, measure } from './journal-size.js';

/** The disk under the journal. */
export interface JournalStore {
  /** Resolves when it is on the disk. Rejects with `JournalUnwritable`; then it may still get there. */
  write(change: JournalChange): Promise<void>;
  /** For reading. Throws `JournalUnwritable` while the file is being opened anew. */
  database(): JournalDatabase;
  /** `database` does not throw. */
  isReadable(): boolean;
  /** After the last commit. */
  size(): JournalSize;
  /** Why no delivery can be written now. */
  trouble(): string | null;
  /** Waits for what was asked for, but not for a disk that does not answer. */
  close(): Promise<void>;
}

export interface JournalStoreOptions {
  folder: string;
  maxBytes: number;
  /** A commit that takes longer makes the journal unwritable until it ends. */
  stallMs: number;
  /** How often a refusing disk is tried again. */
  retryMs: number;
  /** These changes are on the disk; called before their promises resolve. */
  onCommitted(changes: readonly JournalChange[]): void;
  /** The file was opened anew: nobody knows what of the last commit is in it. */
  onReopened(): void;
}

/** Writes to the file and gets over what the disk refuses. On a full disk it still removes. */
export async function openJournalStore(options: JournalStoreOptions): Promise<JournalStore> {
  const { folder, stallMs, retryMs, onCommitted } = options;
  let size = emptySize;
  const file = await openJournalFile({
    ...options,
    onReopened(database) {
      size = measure(database);
      options.onReopened();
    },
  });
  const opened = file.database();
  if (opened) size = measure(opened);
  const reserve = createReserve(join(folder, 'data.mdb'));
  let noRoom: string | null = null;
  let isClosed = false;

  const commits = createJournalCommits({
    stallMs,
    async commit(changes) {
      const database = file.database();
      if (!database) throw unwritable('closed');
      const needed = roomFor(changes);
      if (needed.bytes > 0 || noRoom !== null) await makeRoom(needed);
      await commit(database, changes);
      size = measure(database);
      onCommitted(changes);
    },
    onFailure: (error) => (error instanceof NoRoom ? error.message : file.broke(error)),
  });
  const whyNoRemoval = () => (isClosed ? 'closed' : (file.trouble() ?? (commits.isStalled() ? stalled : null)));

  async function makeRoom(needed: RoomNeeded): Promise<void> {
    try {
      await reserve.ensure(needed, size);
      noRoom = null;
    } catch (error) {
      if (noRoom === null) lookForRoom();
      noRoom = reasonOf(error);
      if (needed.bytes > 0) throw error;
    }
  }

  /** A commit of nothing makes room too. */
  function lookForRoom(): void {
    setTimeout(async () => {
      if (isClosed) return;
      await commits.add({ remove: [] }).catch(() => undefined);
      if (noRoom !== null) lookForRoom();
    }, retryMs).unref();
  }

  return {
    async write(change) {
      const why = whyNoRemoval() ?? ('put' in change ? noRoom : null);
      if (why !== null) throw unwritable(why);
      await commits.add(change);
    },
    database() {
      const database = file.database();
      if (!database) throw unwritable(whyNoRemoval() ?? 'closed');
      return database;
    },
    isReadable: () => file.database() !== null,
    size: () => size,
    trouble: () => whyNoRemoval() ?? noRoom,
    async close() {
      isClosed = true;
      await commits.settled();
      if (!commits.isStalled()) await file.close();
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
