import type { JournalDatabase } from './journal-file.js';
import { type GroupId, groupIdOf, type JournalKey, keysOfGroup, toDelivery } from './journal-keys.js';
import type { JournaledDelivery } from './journaled-delivery.js';

/** One delivery with the key it is removed by. */
export interface JournalEntry {
  key: JournalKey;
  delivery: JournaledDelivery;
}

/** What is forwarded together. */
export interface JournalGroup {
  /** Oldest first. */
  entries: JournalEntry[];
  /** There are more than were read. */
  hasMore: boolean;
}

/** Both bound what one call to Temporal carries, and the memory of all that are in flight. */
const groupBounds = { entries: 1_000, bytes: 524_288 };

/** Up to `limit` groups behind `after` in the order of their keys. One look-up per group, however many entries it has. */
export function findGroups(database: JournalDatabase, after: GroupId | null, limit: number): GroupId[] {
  const found: GroupId[] = [];
  let last = after;
  while (found.length < limit) {
    const behind = last === null ? {} : { start: keysOfGroup(last).last, exclusiveStart: true };
    const [key] = database.getKeys({ ...behind, limit: 1 });
    if (key === undefined) break;
    last = groupIdOf(key);
    found.push(last);
  }
  return found;
}

/** The deliveries of a group, at most so many (1,000) and as many as fit into half a megabyte, but at least one. */
export function readGroup(database: JournalDatabase, id: GroupId, most = groupBounds.entries): JournalGroup {
  const { first, last } = keysOfGroup(id);
  const entries: JournalEntry[] = [];
  let bytes = 0;
  for (const { key, value } of database.getRange({ start: first, end: last, inclusiveEnd: true })) {
    bytes += value.length;
    const isFull = entries.length === most || bytes > groupBounds.bytes;
    if (isFull && entries.length > 0) return { entries, hasMore: true };
    entries.push({ key, delivery: toDelivery(key, value) });
  }
  return { entries, hasMore: false };
}
