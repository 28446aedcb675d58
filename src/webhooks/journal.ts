import { JournalError } from './journal-errors.js';
import { prepareFolder } from './journal-folder.js';
import { findGroups, type JournalGroup, readGroup } from './journal-groups.js';
import { type GroupId, groupIdOf, type JournalKey, toValue } from './journal-keys.js';
import { lockJournal } from './journal-lock.js';
import { estimate } from './journal-size.js';
import { createJournalStock } from './journal-stock.js';
import { type JournalStore, openJournalStore } from './journal-store.js';
import type { JournaledDelivery } from './journaled-delivery.js';

/** How a journal is opened. */
export interface JournalOptions {
  folder: string;
  /** Of pages in use. The file may be longer, since it keeps freed pages for reuse. */
  maxBytes: number;
  now?: () => number;
  /** A commit that takes longer makes the journal unwritable until it ends. Default 5 s. */
  stallMs?: number;
  /** How often a refusing disk is tried again. Default 1 s. */
  retryMs?: number;
}

/** Deliveries from the 2xx until Temporal has them, on the disk. */
export interface Journal {
  /** Resolves when the delivery is on the disk. Rejects with a `JournalError`, and then there must be no 2xx. */
  append(delivery: JournaledDelivery): Promise<void>;
  /** Up to `limit` groups behind `after`; null starts at the front. Throws `JournalUnwritable` while reopening. */
  groupsAfter(after: GroupId | null, limit: number): GroupId[];
  /** A bounded part of a group, at most `most` entries. Throws `JournalUnwritable` while reopening. */
  readGroup(id: GroupId, most?: number): JournalGroup;
  /** Resolves when they are gone from the disk. */
  remove(keys: readonly JournalKey[]): Promise<void>;
  /** The one listener is told of each group that got a delivery, once it is on the disk; null: any may have got one. */
  onAppend(listener: (group: GroupId | null) => void): void;
  /** Entries. */
  depth(): number;
  /** Of pages in use. */
  bytes(): number;
  /** When the oldest entry was made, to the second; null while empty. */
  oldestAt(): number | null;
  /** Why no delivery can be taken now; null when one can. Holds no path. */
  whyUnwritable(): string | null;
  /** Waits for what was asked for, and keeps the rest for the next start. */
  close(): Promise<void>;
}

const full = 'the journal is full';
/** A delivery that is not sealed takes a tenth of this. */
const roomForOne = 4_096;

/** Opens the journal in a folder of its own, made when missing. Throws `JournalError`, which names the setting. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { folder, maxBytes, now = Date.now, stallMs = 5_000, retryMs = 1_000 } = options;
  const stock = createJournalStock(now);
  let tell: (group: GroupId | null) => void = () => undefined;
  const { store, release } = await openLocked(folder, () =>
    openJournalStore({
      ...{ folder, maxBytes, stallMs, retryMs },
      onCommitted(changes, database) {
        stock.note(changes, database);
        for (const change of changes) if ('put' in change) tell(groupIdOf(change.put));
      },
      async onReopened(database) {
        await stock.take(database);
        tell(null);
      },
    }),
  );
  await stock.take(store.database());
  let coming = 0; // bytes asked for and not yet in the stock
  const isFull = (more: number) => stock.bytes() + coming + more > maxBytes;

  return {
    async append(delivery) {
      const value = toValue(delivery);
      const bytes = estimate(value.length);
      if (isFull(bytes)) throw new JournalError('JournalFull', full);
      const { account, eventType, orderId } = delivery;
      coming += bytes;
      try {
        await store.write({ put: [account, eventType, orderId ?? '', stock.nextSeq()], value });
      } finally {
        coming -= bytes;
      }
    },
    remove: (keys) => store.write({ remove: keys }),
    onAppend(listener) {
      tell = listener;
    },
    groupsAfter: (after, limit) => findGroups(store.database(), after, limit),
    readGroup: (id, most) => readGroup(store.database(), id, most),
    depth: () => stock.entries(),
    bytes: () => stock.bytes(),
    oldestAt: () => stock.oldestAt(),
    whyUnwritable: () => store.trouble() ?? (isFull(roomForOne) ? full : null),
    async close() {
      await store.close();
      await release();
    },
  };
}

async function openLocked(folder: string, openStore: () => Promise<JournalStore>) {
  await prepareFolder(folder);
  const { release } = await lockJournal(folder);
  try {
    return { store: await openStore(), release };
  } catch (error) {
    await release();
    throw error;
  }
}
