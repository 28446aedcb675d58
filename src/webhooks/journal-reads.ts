import type { JournalDatabase } from './journal-file.js';
import { type JournalKey, toDelivery } from './journal-keys.js';
import type { JournaledDelivery } from './journaled-delivery.js';

/** One delivery with the key it is removed by. */
export interface JournalEntry {
  key: JournalKey;
  /** null: it is not in the journal any more. */
  delivery: JournaledDelivery | null;
}

/** Bounds what one call to Temporal carries, and the memory of all that are in flight. */
const maxBytes = 524_288;

/** The oldest keys behind a number, at most so many. */
export function keysAfter(database: JournalDatabase, seq: number, limit: number): JournalKey[] {
  const start = [seq + 1] as unknown as JournalKey; // before all keys that begin with this number
  return [...database.getKeys({ start, limit })];
}

/** The oldest (or the newest) key; undefined while there is none. */
export function edgeKey(database: JournalDatabase, edge: 'oldest' | 'newest'): JournalKey | undefined {
  const [key] = database.getKeys({ limit: 1, reverse: edge === 'newest' });
  return key;
}

/** The entries with these keys in their order, as many as fit into half a megabyte, but at least one. */
export function readEntries(database: JournalDatabase, keys: readonly JournalKey[]): JournalEntry[] {
  const entries: JournalEntry[] = [];
  let bytes = 0;
  for (const key of keys) {
    const value = database.get(key);
    bytes += value?.length ?? 0;
    if (bytes > maxBytes && entries.length > 0) break;
    entries.push({ key, delivery: value ? toDelivery(key, value) : null });
  }
  return entries;
}
