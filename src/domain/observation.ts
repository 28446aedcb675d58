import type { Attention } from './attention.js';
import type { AccountName, OrderId } from './keys.js';

/** What one read of an order said, in our words. */
export interface OrderReading {
  status: string;
  rawStatus: string;
  terminal: boolean;
  /** Times, supplier and vehicle, where the service sent them; who the driver is only while payloads are encrypted. */
  details: Record<string, unknown> | null;
}

/** What a look at an order needs to know of the run that looks. Instants are ISO 8601 UTC. */
export interface LookInput {
  account: AccountName;
  orderId: OrderId;
  /** What the run shows now: a look that finds nothing else has nothing to tell. */
  shown: { rawStatus: string | null; attention: Attention['code'] | null };
  /** Since when that status stands; the start of the run before the first read. */
  since: string;
  scheduledAt: string | null;
  /** Deliveries announce its changes: the status may be another by the time of a poll, which asks the run for it. */
  pushed: boolean;
  /** No request to the service before this instant (its own `Retry-After`, or our back-off). */
  notBefore: string | null;
  /** Nobody but the caller vouches for the order: not read yet, named by no delivery, made by no ride. */
  mayBeUnknown: boolean;
  /** A person asked for this read and waits for it: it goes ahead of all waits, once a minute for each account. */
  forPerson?: boolean;
  /** Of the deliveries that led to the look, newest last, where traces are on. */
  traceparents?: string[];
}

/**
 * What a look found. `reads` counts the reads behind it; `gapMs` is the time since the read before, in which the change
 * must have come about; `runLength`, of a poll that asked the run what it shows: how many events that had then.
 */
export type OrderObservation =
  | { kind: 'reading'; reading: OrderReading; at: string; reads: number; gapMs?: number; runLength?: number }
  | { kind: 'trouble'; attention: Attention; notBefore: string; reads: number }
  | { kind: 'unknownOrder'; reads: number };
