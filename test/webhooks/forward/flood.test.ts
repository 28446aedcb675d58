import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Delivery, type DeliveryNotice, deliveriesIn } from '../../../src/domain/delivery.js';
import { createForwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';
import { createDirectForwarding } from '../../../src/webhooks/forward/routing.js';
import type { JournalKey } from '../../../src/webhooks/journal/disk.js';
import { aDelivery } from '../journal/folders.js';
import { recordedPort } from './port.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Keeps deliveries in memory: the disk would take an hour for what passes here in seconds. */
function aJournalInMemory() {
  const entries = new Map<number, { key: JournalKey; delivery: Delivery }>();
  let tell: (key: JournalKey) => void = () => undefined;
  let last = 0;
  const journal: ForwarderOptions['journal'] = {
    keysAfter: (seq, limit) => [...entries.values()].flatMap(({ key }) => (key[0] > seq ? [key] : [])).slice(0, limit),
    read: (keys) => keys.map((key) => ({ key, delivery: entries.get(key[0])?.delivery ?? null })),
    remove: async (keys) => {
      for (const [seq] of keys) entries.delete(seq);
    },
    onAppend: (listener) => {
      tell = listener;
    },
  };
  function append(delivery: Delivery): void {
    last += 1;
    const key: JournalKey = [last, delivery.account, delivery.eventType, delivery.orderId ?? ('' as never)];
    entries.set(last, { key, delivery });
    tell(key);
  }
  return { journal, append, depth: () => entries.size };
}

interface Signal {
  about: string;
  at: number;
  deliveries: DeliveryNotice[];
}

/** Temporal takes signals, and no worker runs. */
function aFlood() {
  const signals: Signal[] = [];
  const port: ForwarderOptions['port'] = {
    ...recordedPort().port,
    toRun: async ({ orderId, deliveryId, eventType }, deliveries) => {
      signals.push({ about: orderId ?? deliveryId, at: Date.now(), deliveries });
      return eventType === 'business_report' ? 'reported' : 'signalled';
    },
  };
  const store = aJournalInMemory();
  const forwarder = createForwarder({ journal: store.journal, port, check: async () => null });
  forwarder.start();
  return { ...store, signals, forwarder, of: (about: string) => signals.filter((signal) => signal.about === about) };
}

const mostInTenMinutes = (signals: readonly Signal[]) =>
  Math.max(...signals.map(({ at: from }) => signals.filter(({ at }) => at >= from && at < from + 600_000).length));
const countIn = (signals: readonly Signal[]) =>
  signals.reduce((sum, { deliveries }) => sum + deliveriesIn(deliveries), 0);
const bytesOf = ({ deliveries }: Signal) => Buffer.byteLength(JSON.stringify({ deliveries }));

it('an hour with 80 deliveries a second for one order is some 150 signals with all of them, and delays no other order', {
  timeout: 120_000,
}, async () => {
  const { append, signals, of, depth, forwarder } = aFlood();
  for (let second = 0; second < 3_600; second += 1) {
    for (let one = 0; one < 80; one += 1) append(aDelivery({ orderId: 'flooded', status: 'Driving' }));
    const other = `other ${second}`;
    const sentAt = Date.now();
    append(aDelivery({ orderId: other }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(of(other).map(({ at }) => at - sentAt)).toEqual([0]);
  }
  await vi.advanceTimersByTimeAsync(31_000);
  const flooded = of('flooded');
  expect(countIn(flooded)).toBe(3_600 * 80);
  expect(depth()).toBe(0);
  expect(mostInTenMinutes(flooded)).toBeLessThanOrEqual(40);
  expect(flooded.length).toBeLessThanOrEqual(160);
  expect(Math.max(...flooded.map(bytesOf))).toBeLessThan(64 * 1_024);
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
