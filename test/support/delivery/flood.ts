import { vi } from 'vitest';
import type { Delivery, DeliveryNotice } from '../../../src/domain/delivery.js';
import { createForwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';
import type { JournalKey } from '../../../src/webhooks/journal/disk.js';
import { aDelivery } from '../../webhooks/journal/folders.js';

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
    heldOf: () => ({ toPark: 0, unproven: 0 }),
  };
  function append(delivery: Delivery): void {
    last += 1;
    const key: JournalKey = [last, delivery.account, delivery.eventType, delivery.orderId ?? ('' as never)];
    entries.set(last, { key, delivery });
    tell(key);
  }
  return { journal, append, depth: () => entries.size };
}

/** A signal to a run. */
export interface ForwardedSignal {
  /** The order, or the delivery if it names none. */
  about: string;
  at: number;
  deliveries: DeliveryNotice[];
}

/** A forwarder whose Temporal takes signals while no worker runs. */
export function aFlood() {
  const signals: ForwardedSignal[] = [];
  const port: ForwarderOptions['port'] = {
    park: async () => undefined,
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

/** The most signals in any ten minutes. */
export const mostInTenMinutes = (signals: readonly ForwardedSignal[]) =>
  Math.max(...signals.map(({ at: from }) => signals.filter(({ at }) => at >= from && at < from + 600_000).length));
/** How many deliveries they stand for, also by a release that sent each. */
export const countIn = (signals: readonly ForwardedSignal[]) =>
  signals.reduce(
    (sum, { deliveries }) =>
      sum + deliveries.reduce((all, one) => all + ((one as { standsFor?: number }).standsFor ?? 1), 0),
    0,
  );

/** So many deliveries a second come for the order `flooded` while no worker runs. */
export const perSecond = 80;

/** The clock of this process stands still, and passes only by `vi.advanceTimersByTimeAsync`. */
export const stopClock = () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });

/** What a forwarder signals to an order in an hour of flood, by a clock of its own. */
export async function anHourOfFlood(): Promise<ForwardedSignal[]> {
  stopClock();
  try {
    const { append, of, forwarder } = aFlood();
    for (let second = 0; second < 3_600; second += 1) {
      for (let one = 0; one < perSecond; one += 1) append(aDelivery({ orderId: 'flooded', status: 'Driving' }));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    await vi.advanceTimersByTimeAsync(31_000);
    await forwarder.stop(0);
    return of('flooded');
  } finally {
    vi.useRealTimers();
  }
}
