import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../../../src/domain/order/input.js';
import { toRideStatus } from '../../../src/domain/order/status.js';
import type { OrderObservation, WatchedReading } from '../../../src/domain/order/trail.js';
import { type OrderTrail, openTrail, recordObservation } from '../../../src/domain/order/trail.js';

export const startedAt = '2031-05-01T10:00:00.000Z';

/** ISO instant so many seconds after the start. */
export const after = (seconds: number): string => new Date(Date.parse(startedAt) + seconds * 1_000).toISOString();

export const inputOf = (more: Partial<Record<keyof FollowOrderInput, unknown>> = {}): FollowOrderInput =>
  parseFollowOrderInput({ account: 'partner', orderId: '4711', ...more });

export const newTrail = (): OrderTrail => openTrail(inputOf(), startedAt);

/** A read that said `rawStatus`, so many seconds after the start. */
export function reading(rawStatus: string, seconds = 0, more: Partial<WatchedReading> = {}): OrderObservation {
  const status = toRideStatus(rawStatus);
  const terminal = ['Completed', 'Cancelled', 'Rejected'].includes(status);
  const read = { status, rawStatus, terminal, details: null, concern: null, ...more };
  return { kind: 'reading', reading: read, at: after(seconds), reads: 1 };
}

let deliveries = 0;

/** A delivery that claims a status, or says none. */
export function claim(status?: string, seconds = 0): DeliveryNotice {
  deliveries += 1;
  const notice = { deliveryId: `delivery-${deliveries}`, eventType: 'status_changed', receivedAt: after(seconds) };
  return status === undefined ? notice : { ...notice, status };
}

/** The trail of an order that was read with these words, a minute apart. */
export const trailOf = (...words: string[]): OrderTrail =>
  words.reduce((trail, word, index) => recordObservation(trail, reading(word, index * 60), []), newTrail());
