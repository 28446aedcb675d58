import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createDirectForwarding } from '../../../src/webhooks/forward/routing.js';
import {
  aFlood,
  countIn,
  type ForwardedSignal,
  mostInTenMinutes,
  perSecond,
  stopClock,
} from '../../support/delivery/flood.js';
import { aDelivery } from '../journal/folders.js';
import { recordedPort } from './port.js';

beforeEach(stopClock);
afterEach(() => void vi.useRealTimers());

const bytesOf = ({ deliveries }: ForwardedSignal) => Buffer.byteLength(JSON.stringify({ deliveries }));

it('an hour with 80 deliveries a second for one order is some 150 signals with all of them, and delays no other order', {
  timeout: 600_000,
}, async () => {
  const { append, signals, of, depth, forwarder } = aFlood();
  for (let second = 0; second < 3_600; second += 1) {
    for (let one = 0; one < perSecond; one += 1) append(aDelivery({ orderId: 'flooded', status: 'Driving' }));
    const other = `other ${second}`;
    const sentAt = Date.now();
    append(aDelivery({ orderId: other }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(of(other).map(({ at }) => at - sentAt)).toEqual([0]);
  }
  await vi.advanceTimersByTimeAsync(31_000);
  const flooded = of('flooded');
  expect(countIn(flooded)).toBe(3_600 * perSecond);
  expect(depth()).toBe(0);
  expect(mostInTenMinutes(flooded)).toBeLessThanOrEqual(40);
  expect(flooded.length).toBeLessThanOrEqual(160);
  expect(Math.max(...flooded.map(bytesOf))).toBeLessThan(16 * 1_024);
  const ids = flooded.flatMap(({ deliveries }) => deliveries.map(({ deliveryId }) => deliveryId));
  expect(new Set(ids).size, 'no delivery goes twice').toBe(ids.length);
  expect(signals.length - flooded.length).toBe(3_600);
  await forwarder.stop(0);
});

it('a report without an order that comes again and again is collected, too', async () => {
  const { append, of, depth, forwarder } = aFlood();
  const again = { orderId: null, eventType: 'business_report', deliveryId: 'a'.repeat(32) } as const;
  for (let second = 0; second < 600; second += 1) {
    for (let one = 0; one < 20; one += 1) append(aDelivery(again));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await vi.advanceTimersByTimeAsync(31_000);
  const signals = of(again.deliveryId);
  expect([countIn(signals), depth()]).toEqual([12_000, 0]);
  expect(mostInTenMinutes(signals)).toBeLessThanOrEqual(40);
  await forwarder.stop(0);
});

it('without a journal, what comes too often is refused, and taken again later', async () => {
  const { port, calls } = recordedPort();
  const forward = createDirectForwarding({ port, check: async () => null });
  const send = () => forward(aDelivery({ orderId: 'flooded' }));
  for (let sent = 0; sent < 10; sent += 1) await send();
  await expect(send()).rejects.toMatchObject({ code: 'SignalsPaused', waitMs: 2_000 });
  await forward(aDelivery({ orderId: 'other' }));
  expect(calls).toHaveLength(11);
  await vi.advanceTimersByTimeAsync(2_000);
  await send();
  expect(calls).toHaveLength(12);
});
