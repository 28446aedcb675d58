import { setImmediate as nextTurn } from 'node:timers/promises';
import { createJournalAges } from './journal-ages.js';
import type { JournalChange } from './journal-commits.js';
import type { JournalDatabase } from './journal-file.js';
import { seqPerMs, timeOf } from './journal-keys.js';
import { measure } from './journal-size.js';

/** What is known of the journal without looking: how much there is, how old it is, which number comes next. */
export interface JournalStock {
  /** Reads all keys, at the start and when nobody knows what is there. */
  take(database: JournalDatabase): Promise<void>;
  /** These changes are on the disk. */
  note(changes: readonly JournalChange[], database: JournalDatabase): void;
  /** A number that carries the time and never repeats, also when the clock goes back. */
  nextSeq(): number;
  entries(): number;
  bytes(): number;
  oldestAt(): number | null;
}

const keysPerTurn = 10_000;

export function createJournalStock(now: () => number): JournalStock {
  let ages = createJournalAges();
  let size = { entries: 0, bytes: 0, end: 0 };
  let lastSeq = 0;

  return {
    async take(database) {
      ages = createJournalAges();
      let seen = 0;
      for (const [, , , seq] of database.getKeys({ snapshot: false })) {
        ages.add(timeOf(seq));
        lastSeq = Math.max(lastSeq, seq);
        seen += 1;
        if (seen % keysPerTurn === 0) await nextTurn(); // a long journal must not keep the process from answering
      }
      size = measure(database);
    },
    note(changes, database) {
      size = measure(database);
      for (const change of changes) {
        if ('put' in change) ages.add(timeOf(change.put[3]));
        else for (const [, , , seq] of change.remove) ages.remove(timeOf(seq));
      }
    },
    nextSeq() {
      lastSeq = Math.max(lastSeq + 1, now() * seqPerMs);
      return lastSeq;
    },
    entries: () => size.entries,
    bytes: () => size.bytes,
    oldestAt: () => ages.oldestAt(),
  };
}
