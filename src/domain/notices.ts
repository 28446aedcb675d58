import { readInstant } from './follow-input.js';
import { readTraceparent } from './traceparent.js';

/** One webhook delivery as a run is told of it: a hint, never the truth (upstream R1). */
export interface DeliveryNotice {
  deliveryId: string;
  eventType: string;
  /** ISO instant. */
  receivedAt: string;
  status?: string;
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
