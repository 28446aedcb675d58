import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { open, type RootDatabase } from 'lmdb';
import type { AccountName, OrderId } from '../../domain/keys.js';
import type { EventType } from '../../domain/subscription/subscription.js';
import { createReserve, JournalError, type JournalSize, measure, NoRoom, prepareFolder, reasonOf } from './folder.js';

/**
 * `seq` grows and carries the time. It comes first, so that new entries are neighbours on the disk and a commit writes few
 * pages. The order id is empty if the delivery names no order.
 */
export type JournalKey = [seq: number, account: AccountName, eventType: EventType, orderId: OrderId | ''];

/** The library's handle. */
export type JournalDatabase = RootDatabase<Buffer, JournalKey>;

/** One change. All changes that arrive during a commit share the next one. */
type JournalChange = { put: JournalKey; value: Buffer } | { remove: readonly JournalKey[] };

interface Waiting {
  change: JournalChange;
  resolve(): void;
  reject(error: Error): void;
}

export interface JournalDiskOptions {
  folder: string;
  maxBytes: number;
  /** A commit that takes longer makes the journal unwritable until it ends. */
  stallMs: number;
  /** The time between attempts while the disk refuses. */
  retryMs: number;
  /** This entry is on the disk. Called before its `write` resolves. */
  onPut(key: JournalKey): void;
  /** Called after reopening. The file may then hold any part of the last commit. */
  onReopened(): void;
}

/** Keeps a commit below a second. */
const maxChangesPerCommit = 10_000;
/** Put and removed in one commit. */
const probeKey = ['~probe'] as unknown as JournalKey;

const unwritable = (why: string): JournalError =>
  new JournalError('JournalUnwritable', `the journal cannot be written: ${why}`);

/**
 * The journal's file and the disk under it. While the disk refuses, it tries again:
 * - no room: deliveries are refused, and removals go on where the file itself has room for them;
 * - a failed commit: the file reopens until a commit succeeds, since LMDB may be in a state in which the next transaction
 *   never ends (MDB_PANIC);
 * - a commit that takes too long: all changes are refused until it ends.
 */
export class JournalDisk {
  readonly #options: JournalDiskOptions;
  readonly #reserve: ReturnType<typeof createReserve>;
  /** Null while reopening. */
  #database: JournalDatabase | null = null;
  #size: JournalSize = { entries: 0, bytes: 0, end: 0 };
  #queue: Waiting[] = [];
  #committing: Promise<void> | null = null;
  /** Why a commit failed, until the file has reopened. */
  #failure: string | null = null;
  #noRoom: string | null = null;
  #isStalled = false;
  #onStall: () => void = () => undefined;
  #isClosed = false;
  #retryTimer: NodeJS.Timeout | undefined;
  #retrying: Promise<void> | null = null;

  private constructor(options: JournalDiskOptions) {
    this.#options = options;
    this.#reserve = createReserve(join(options.folder, 'data.mdb'));
  }

  /** Opens the file. Throws `JournalUnwritable`, which names the setting. */
  static async open(options: JournalDiskOptions): Promise<JournalDisk> {
    const disk = new JournalDisk(options);
    await disk.#open();
    return disk;
  }

  /** Resolves when the change is on the disk. Rejects with `JournalUnwritable`; the change may then still reach the disk. */
  async write(change: JournalChange): Promise<void> {
    const why = this.#whyNoRemoval() ?? ('put' in change ? this.#noRoom : null);
    if (why !== null) throw unwritable(why);
    await this.#add(change);
  }

  /** For reading. Throws `JournalUnwritable` while reopening. */
  database(): JournalDatabase {
    if (!this.#database) throw unwritable(this.#whyNoRemoval() ?? 'closed');
    return this.#database;
  }

  /** `database` does not throw. */
  isReadable = (): boolean => this.#database !== null;

  /** After the last commit. */
  size = (): JournalSize => this.#size;

  /** Why the disk takes no delivery now; null when it takes one. */
  whyUnwritable = (): string | null => this.#whyNoRemoval() ?? this.#noRoom;

  /** Waits for pending changes, but not for a disk that does not answer. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    const stalling = new Promise<void>((resolve) => {
      this.#onStall = resolve;
    });
    if (!this.#isStalled) await Promise.race([this.#committing, stalling]);
    if (this.#isStalled) return;
    await this.#retrying;
    await this.#closeDatabase();
  }

  #whyNoRemoval(): string | null {
    if (this.#isClosed) return 'closed';
    return this.#failure ?? (this.#isStalled ? 'the disk does not answer' : null);
  }

  #add(change: JournalChange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, resolve, reject });
      this.#committing ??= this.#commitQueue();
    });
  }

  /** Keeps one commit in flight, so that one flush to the disk serves all changes that arrived meanwhile. */
  async #commitQueue(): Promise<void> {
    let tellBefore: () => void = () => undefined;
    while (this.#queue.length > 0) {
      await nextTurn(); // requests that arrived together share a commit
      const committing = this.#commitBatch(this.#queue.splice(0, maxChangesPerCommit));
      tellBefore(); // the callers go on while the disk works
      tellBefore = await committing;
    }
    this.#committing = null;
    tellBefore();
  }

  /** Gives what to do for the callers of this batch, once the next commit has started. */
  async #commitBatch(batch: readonly Waiting[]): Promise<() => void> {
    const stall = setTimeout(() => {
      this.#isStalled = true;
      this.#rejectAll(batch, 'the disk does not answer');
      this.#onStall();
    }, this.#options.stallMs);
    try {
      await this.#commit(batch.map(({ change }) => change));
      return () => {
        for (const { resolve } of batch) resolve();
      };
    } catch (error) {
      if (!(error instanceof NoRoom)) this.#failure = reasonOf(error);
      this.#retryLater();
      this.#rejectAll(batch, reasonOf(error));
      return () => undefined;
    } finally {
      clearTimeout(stall);
      this.#isStalled = false;
    }
  }

  async #commit(changes: readonly JournalChange[]): Promise<void> {
    const database = this.database();
    await this.#makeRoom(changes.flatMap((change) => ('put' in change ? [change.value.length] : [])));
    await commit(database, changes);
    this.#size = measure(database);
    for (const change of changes) if ('put' in change) this.#options.onPut(change.put);
  }

  #rejectAll(batch: readonly Waiting[], why: string): void {
    const error = unwritable(why);
    for (const { reject } of [...batch, ...this.#queue.splice(0)]) reject(error);
  }

  /** For values of so many bytes. Rejects if LMDB must not write now. */
  async #makeRoom(valueBytes: readonly number[]): Promise<void> {
    try {
      await this.#reserve(valueBytes, this.#size);
      this.#noRoom = null;
    } catch (error) {
      this.#noRoom = reasonOf(error);
      this.#retryLater();
      if (valueBytes.length > 0 || !(error instanceof NoRoom && error.allowsRemovals)) throw error;
    }
  }

  #retryLater(): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined;
      this.#retrying = this.#retry();
    }, this.#options.retryMs).unref();
  }

  async #retry(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#failure !== null) await this.#reopen();
    else await this.#add({ remove: [] }).catch(() => undefined); // a commit of nothing makes room, too
    if (this.#failure !== null || this.#noRoom !== null) this.#retryLater();
  }

  async #reopen(): Promise<void> {
    try {
      await this.#closeDatabase();
      const database = await this.#open();
      await this.#makeRoom([]);
      await commit(database, [{ put: probeKey, value: Buffer.alloc(1) }, { remove: [probeKey] }]);
      this.#failure = null;
      this.#options.onReopened();
    } catch (error) {
      this.#failure = reasonOf(error);
    }
  }

  async #open(): Promise<JournalDatabase> {
    const { folder, maxBytes } = this.#options;
    await prepareFolder(folder);
    const database = open<Buffer, JournalKey>({
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
    this.#database = database;
    this.#size = measure(database);
    return database;
  }

  async #closeDatabase(): Promise<void> {
    const database = this.#database;
    this.#database = null;
    await database?.close();
  }
}

/** Writes all changes or none. Resolves when they are on the disk. */
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

/** The library rejects with a general error, which carries a promise of the cause. */
async function causeOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<unknown> };
  if (!commitError) return error;
  return await commitError.then(
    () => error,
    (cause: unknown) => cause,
  );
}
