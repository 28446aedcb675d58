import { expect, onTestFinished } from 'vitest';
import { TemporalUnavailable } from '../../../src/webhooks/delivery-port.js';
import { createForwarder, type Forwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';
import { aDelivery, aJournal } from '../journal/folders.js';

export const unavailable = () => new TemporalUnavailable();

const idsOf = (deliveries: readonly { deliveryId: string }[]) => deliveries.map(({ deliveryId }) => deliveryId);

/** A Temporal that records the calls to it. The test sets how it answers. */
export function recordedPort() {
  const recorded = {
    /** One call as text: `order 42: <delivery ids>`, `report 42: ...`, `parked noOrderId: ...`, `ride business/trip-1: 42`. */
    calls: [] as string[],
    /** Ids of the deliveries that Temporal has, with repetitions. */
    delivered: [] as string[],
    /** The error that rejects this call; undefined lets it pass. */
    refuse: (_call: string): Error | undefined => undefined,
    /** How long every call takes. */
    delayMs: 0,
    /** Calls end after this. */
    held: Promise.resolve(),
  };
  async function take(what: string, ids: string[]): Promise<void> {
    const call = `${what}: ${ids.join(' ')}`;
    recorded.calls.push(call);
    if (recorded.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, recorded.delayMs));
    await recorded.held;
    const error = recorded.refuse(call);
    if (error) throw error;
    recorded.delivered.push(...ids);
  }
  const port: ForwarderOptions['port'] = {
    async toRun({ eventType, orderId, deliveryId }, deliveries) {
      const isReport = eventType === 'business_report';
      await take(`${isReport ? 'report' : 'order'} ${orderId ?? deliveryId}`, idsOf(deliveries));
      return isReport ? 'reported' : 'signalled';
    },
    park: ({ reason, deliveryId }) => take(`parked ${reason}`, [deliveryId]),
  };
  return Object.assign(recorded, { port });
}

/** A started forwarder that is stopped after the test. */
export function aForwarder(options: Partial<ForwarderOptions> & Pick<ForwarderOptions, 'journal' | 'port'>): Forwarder {
  const forwarder = createForwarder({ check: async () => null, ...options });
  forwarder.start();
  onTestFinished(() => forwarder.stop(1_000));
  return forwarder;
}

interface SceneOptions extends Partial<ForwarderOptions> {
  refuse?: (call: string) => Error | undefined;
  delayMs?: number;
  /** Holds the first call, for which the scene waits, until `release`. */
  isHeld?: boolean;
}

/** A recorded port, a journal with one delivery for each of these orders, and the forwarder between them. */
export async function aScene(orders: readonly string[] = [], options: SceneOptions = {}) {
  const { refuse = () => undefined, delayMs = 0, isHeld = false, ...rest } = options;
  const journal = await aJournal();
  await Promise.all(orders.map((orderId) => journal.append(aDelivery({ orderId }))));
  let release: () => void = () => undefined;
  const recorded = Object.assign(recordedPort(), { refuse, delayMs });
  if (isHeld) recorded.held = new Promise((resolve) => (release = resolve));
  const forwarder = aForwarder({ journal, port: recorded.port, ...rest });
  if (isHeld) await expect.poll(() => recorded.calls.length).toBe(1);
  const isEmpty = () => expect.poll(() => journal.depth()).toBe(0);
  return { journal, recorded, forwarder, release, isEmpty };
}
