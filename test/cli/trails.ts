import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { OrderTrail, TimelineEntry } from '../../src/domain/order/trail.js';

export const entry = (status: string, second: number, more: Partial<TimelineEntry> = {}): TimelineEntry => ({
  status,
  rawStatus: status,
  at: new Date(Date.UTC(2026, 4, 1, 8, 30, second, 123)).toISOString(),
  source: 'read',
  ...more,
});

/** The trail of an order that is being driven. */
export const aTrail = (more: Partial<OrderTrail> = {}): OrderTrail => ({
  account: toAccountName('partner'),
  orderId: toOrderId('42'),
  status: 'Driving',
  rawStatus: 'Driving',
  since: '2026-05-01T08:30:20.123Z',
  terminal: false,
  outcome: null,
  timeline: [entry('Pending', 0), entry('Driving', 20)],
  deliveries: { received: 0, duplicate: 0 },
  reads: 12,
  pushed: false,
  attention: null,
  details: null,
  ...more,
});
