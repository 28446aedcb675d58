import { expect, it } from 'vitest';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import type { OrderObservation } from '../../../src/domain/order/trail.js';
import { statusLagMs } from '../../../src/domain/order/trail.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const at = (seconds: number): string => new Date(start + seconds * 1_000).toISOString();
const claim = (seconds: number): DeliveryNotice => ({
  deliveryId: String(seconds),
  eventType: 'status_changed',
  receivedAt: at(seconds),
});
const reading = (more: { reads?: number; gapMs?: number } = {}): OrderObservation => ({
  kind: 'reading',
  reading: { status: 'Driving', rawStatus: 'Driving', terminal: false, details: null },
  at: at(60),
  reads: 1,
  ...more,
});

it.each([
  ['since the first of its deliveries', { claims: [claim(58), claim(50), claim(59)] }, 12_000],
  ['a delivery from a clock that goes ahead', { claims: [claim(63)] }, 0],
  ['since the read of the run before it', { lastReadAt: at(20) }, 40_000],
  ['since the attempt before, when the run has not read it since', { seen: reading({ gapMs: 10_000 }) }, 10_000],
  ['since the later of both: the attempt', { seen: reading({ gapMs: 10_000 }), lastReadAt: at(20) }, 10_000],
  ['since the later of both: the read', { seen: reading({ gapMs: 50_000 }), lastReadAt: at(20) }, 40_000],
  ['a read by a clock that goes ahead', { lastReadAt: at(63) }, 0],
  ['nobody had looked before', {}, undefined],
  ['trouble is no change', { seen: { kind: 'unknownOrder', reads: 1 } as const, lastReadAt: at(20) }, undefined],
])('%s', (_, more, lagMs) => {
  expect(statusLagMs({ seen: reading(), claims: [], lastReadAt: null, now: start + 62_000, ...more })).toBe(lagMs);
});
