import type { CallFacts } from './endpoint.js';
import { type OperationName, operations } from './operations.js';

/** One call that reached the sandbox. It never holds a token or a query. */
export interface LedgerEntry extends CallFacts {
  /** When the call arrived: ISO, milliseconds. */
  at: string;
  operation: OperationName | 'unknown';
  method: string;
  path: string;
  /** Null: the sandbox dropped the connection without an answer. */
  httpStatus: number | null;
  /** The kind of the fault that hit the call, or `down`. */
  fault?: string | undefined;
}

export interface LedgerFilter {
  operation?: OperationName | 'unknown' | undefined;
  orderId?: string | undefined;
  clientId?: string | undefined;
  /** ISO instant: entries from then on. */
  since?: string | undefined;
}

/** Counters, which also count when the ledger is full. `byStatus` has the key `none` for calls without an answer. */
export interface LedgerCounts {
  total: number;
  kept: number;
  tokensIssued: number;
  byOperation: Record<OperationName | 'unknown', number>;
  byStatus: Record<string, number>;
}

export type Ledger = ReturnType<typeof createLedger>;

const maxEntries = 200_000;

const newCounts = (): LedgerCounts => ({
  total: 0,
  kept: 0,
  tokensIssued: 0,
  byOperation: Object.fromEntries([...operations, 'unknown'].map((name) => [name, 0])) as LedgerCounts['byOperation'],
  byStatus: {},
});

/** Keeps the first `limit` calls since the last reset, and counts all. */
export function createLedger(limit: number = maxEntries) {
  let entries: LedgerEntry[] = [];
  let counts = newCounts();
  return {
    record(entry: LedgerEntry, issuedToken: boolean): void {
      const status = entry.httpStatus ?? 'none';
      counts.total += 1;
      counts.byOperation[entry.operation] += 1;
      counts.byStatus[status] = (counts.byStatus[status] ?? 0) + 1;
      if (issuedToken) counts.tokensIssued += 1;
      if (entries.length < limit) entries.push(entry);
    },
    entries(filter: LedgerFilter = {}): LedgerEntry[] {
      return entries.filter(
        (entry) =>
          (filter.operation ?? entry.operation) === entry.operation &&
          (filter.orderId ?? entry.orderId) === entry.orderId &&
          (filter.clientId ?? entry.clientId) === entry.clientId &&
          (filter.since === undefined || Date.parse(entry.at) >= Date.parse(filter.since)),
      );
    },
    counts: (): LedgerCounts => ({ ...structuredClone(counts), kept: entries.length }),
    /** Gives the calls that it forgets. */
    reset(): LedgerEntry[] {
      const forgotten = entries;
      entries = [];
      counts = newCounts();
      return forgotten;
    },
  };
}
