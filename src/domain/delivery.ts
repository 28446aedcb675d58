import { InstantSchema, readInstant } from './instant.js';
import * as s from './schema.js';

/** What a traceparent says. */
interface TraceContext {
  traceId: string;
  spanId: string;
  /** 1: the trace is recorded. */
  traceFlags: number;
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads a `traceparent` (W3C Trace Context, section 3.2.2); null unless it is one. */
export function readTraceparent(value: unknown): TraceContext | null {
  const [, traceId, spanId, flags] = (typeof value === 'string' ? form.exec(value) : null) ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

const shortText = s.text(256);
/** One webhook delivery as a run is told of it; the signal `deliveryReceived` carries `{ deliveries }`. */
export const DeliveryNoticeSchema = s.answerOf({
  deliveryId: shortText,
  eventType: shortText,
  receivedAt: InstantSchema,
  status: s.absentOr(shortText),
});

/** One webhook delivery as a run is told of it: a hint, never the truth (upstream R1). */
export interface DeliveryNotice extends s.Read<typeof DeliveryNoticeSchema> {
  /** Of the trace that the delivery began, where traces are on. */
  traceparent?: string;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 256;

/**
 * Reads the argument of the signal `deliveryReceived`, which any program may send. Never throws, since an error would
 * end or block the run: what cannot be read counts as a delivery of unknown content, and so still leads to a read.
 */
export function readDeliveries(value: unknown, now: string): DeliveryNotice[] {
  const list = (value as { deliveries?: unknown } | null)?.deliveries;
  if (!Array.isArray(list)) return [unreadable(now)];
  return list.map((item: Partial<Record<keyof DeliveryNotice, unknown>> | null) => {
    if (!item || !isText(item.deliveryId)) return unreadable(now);
    const { traceparent } = item;
    return {
      deliveryId: item.deliveryId,
      eventType: isText(item.eventType) ? item.eventType : 'unknown',
      receivedAt: readInstant(item.receivedAt) ?? now,
      ...(isText(item.status) ? { status: item.status } : {}),
      ...(isText(traceparent) && readTraceparent(traceparent) ? { traceparent } : {}),
    };
  });
}

const unreadable = (now: string): DeliveryNotice => ({ deliveryId: '', eventType: 'unknown', receivedAt: now });

/** Why deliveries for an order wait for a person instead of starting it anew. */
export type EndParkReason = 'followingStopped' | 'endUnreadable';

/** Why nobody could place a delivery; the last two: how the following of its order ended leaves that to a person. */
export const parkReasons = [
  'noOrderId',
  'orderIdUnusable',
  'otherCompany',
  'otherEventType',
  'ambiguousBody',
  'wrongSecret',
  'endedGeneration',
  'neverSubscribed',
  'followingStopped',
  'endUnreadable',
] as const;

/** One of the words in `parkReasons`. */
export type ParkReason = (typeof parkReasons)[number];

/**
 * What became of deliveries that were taken. `signalled`: to the run that follows the order. `started`: such a run, anew too. `late`:
 * the order has ended at the service. `ignored`: nobody follows the order, and its account ignores such orders. `reported`: to
 * the report of the order. `parked`: they wait for a person.
 */
export type ForwardOutcome = 'signalled' | 'started' | 'late' | 'ignored' | 'reported' | 'parked';

/** What became of deliveries about an order, or why they must be parked. */
export type OrderDeliveryOutcome = Exclude<ForwardOutcome, 'reported' | 'parked'> | EndParkReason;

/** Must deliveries with this outcome be parked, since they have reached nobody? */
export const isEndParkReason = (outcome: OrderDeliveryOutcome | ParkReason): outcome is EndParkReason =>
  outcome === 'followingStopped' || outcome === 'endUnreadable';

/** What became of a delivery that a person gave to an order, or why it stays parked. */
export type HandOverOutcome = OrderDeliveryOutcome | 'reported';
