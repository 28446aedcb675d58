import type { DeliveryEvent } from './bodies.js';
import type { DeliveryFlaw } from './flaws.js';

/** One attempt to deliver. It never holds a secret, an address or a body. */
export interface DeliveryAttempt {
  /** When the sandbox sent it: ISO, milliseconds. */
  at: string;
  /** Running number of the delivery. Its further attempts and its copies have the same number. */
  delivery: number;
  subscriberId: string;
  eventType: DeliveryEvent;
  orderId?: string | undefined;
  status?: string | undefined;
  /** 1 is the first. */
  attempt: number;
  /** `change`: a change of an order caused it; `command`: a command did. */
  cause: 'change' | 'command';
  flaw?: DeliveryFlaw | undefined;
  /** HTTP status; null: no answer came in time. */
  answer: number | null;
  /** The code of the failure if no answer came. */
  failure?: string | undefined;
  /** The id that the answer gave the delivery, to look it up at the receiver. */
  acknowledgedAs?: string | undefined;
  /** From the sending to the end of the answer. */
  ms: number;
}

export interface DeliveryFilter {
  eventType?: DeliveryEvent | undefined;
  orderId?: string | undefined;
  subscriberId?: string | undefined;
}

/** Counters, which also count when the ledger is full. */
export interface DeliveryCounts {
  attempts: number;
  kept: number;
  /** Attempts that got a 2xx. */
  delivered: number;
  /** Deliveries that the sandbox dropped on purpose. */
  lost: number;
  /** Deliveries that wait for their next attempt. */
  retrying: number;
  /** Deliveries whose last attempt failed. */
  givenUp: number;
  /** Attempts by HTTP status; `none`: without an answer. */
  byAnswer: Record<string, number>;
}

export type DeliveryLedger = ReturnType<typeof createDeliveryLedger>;

const maxEntries = 200_000;

const newCounts = () => ({ attempts: 0, delivered: 0, lost: 0, givenUp: 0, byAnswer: {} as Record<string, number> });

export const isDelivered = (answer: number | null): boolean => answer !== null && answer >= 200 && answer < 300;

/** Keeps the first `limit` attempts since the last reset, and counts all. */
export function createDeliveryLedger(limit: number = maxEntries) {
  let entries: DeliveryAttempt[] = [];
  let counts = newCounts();
  let retrying = 0; // a reset does not end the waits
  return {
    record(entry: DeliveryAttempt): void {
      const answer = entry.answer ?? 'none';
      counts.attempts += 1;
      counts.byAnswer[answer] = (counts.byAnswer[answer] ?? 0) + 1;
      if (isDelivered(entry.answer)) counts.delivered += 1;
      if (entries.length < limit) entries.push(entry);
    },
    countLost(): void {
      counts.lost += 1;
    },
    countGivenUp(): void {
      counts.givenUp += 1;
    },
    countRetrying(change: 1 | -1): void {
      retrying += change;
    },
    entries(filter: DeliveryFilter = {}): DeliveryAttempt[] {
      return entries.filter(
        (entry) =>
          (filter.eventType ?? entry.eventType) === entry.eventType &&
          (filter.orderId ?? entry.orderId) === entry.orderId &&
          (filter.subscriberId ?? entry.subscriberId) === entry.subscriberId,
      );
    },
    counts: (): DeliveryCounts => ({ ...structuredClone(counts), kept: entries.length, retrying }),
    reset(): void {
      entries = [];
      counts = newCounts();
    },
  };
}
