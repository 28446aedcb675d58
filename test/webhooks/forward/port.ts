import { expect, onTestFinished } from 'vitest';
import { TemporalUnavailable } from '../../../src/webhooks/delivery-port.js';
import { createForwarder, type Forwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';
import { aDelivery, aJournal } from '../journal/folders.js';

/** One call to Temporal, as text: `order 42: <delivery ids>`, `report 42: ...`, `parked noOrderId: ...`. */
export interface RecordedPort {
  port: ForwarderOptions['port'];
  calls: string[];
  /** Ids of the deliveries that Temporal has, with repetitions. */
  delivered: string[];
  /** The error that rejects this call; undefined lets it pass. */
  refuse: (call: string) => Error | undefined;
  /** How long every call takes. */
  delayMs: number;
  /** From now on calls end only when the result is called. */
  hold(): () => void;
}

export const unavailable = () => new TemporalUnavailable();

const idsOf = (deliveries: readonly { deliveryId: string }[]) => deliveries.map(({ deliveryId }) => deliveryId);

export function recordedPort(): RecordedPort {
  const recorded: RecordedPort = {
    port: undefined as never,
    calls: [],
    delivered: [],
    refuse: () => undefined,
    delayMs: 0,
    hold() {
      let release: () => void = () => undefined;
      held = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
  let held: Promise<void> | undefined;
  async function take(what: string, ids: string[]): Promise<void> {
    const call = `${what}: ${ids.join(' ')}`;
    recorded.calls.push(call);
    if (recorded.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, recorded.delayMs));
    await held;
    const error = recorded.refuse(call);
    if (error) throw error;
    recorded.delivered.push(...ids);
  }
  recorded.port = {
    async toOrder({ orderId }, deliveries) {
      await take(`order ${orderId}`, idsOf(deliveries));
      return 'signalled';
    },
    async toReport({ about }, deliveries) {
      await take(`report ${about}`, idsOf(deliveries));
      return 'reported';
    },
    park: ({ reason, deliveryId }) => take(`parked ${reason}`, [deliveryId]),
  };
  return recorded;
}

/** A started forwarder that is stopped after the test. */
export function aForwarder(options: Partial<ForwarderOptions> & Pick<ForwarderOptions, 'journal' | 'port'>): Forwarder {
  const forwarder = createForwarder({ check: async () => null, ...options });
  forwarder.start();
  onTestFinished(() => forwarder.stop(1_000));
  return forwarder;
}

interface SceneOptions extends Pick<RecordedPort, 'refuse' | 'delayMs'> {
  /** Holds the first call, for which the scene waits. */
  isHeld: boolean;
}

/** A recorded port, a journal with one delivery for each of these orders, and the forwarder between them. */
export async function aScene(
  orders: readonly string[] = [],
  { refuse, delayMs = 0, isHeld = false, ...options }: Partial<ForwarderOptions & SceneOptions> = {},
) {
  const journal = await aJournal();
  await Promise.all(orders.map((orderId) => journal.append(aDelivery({ orderId }))));
  const recorded = recordedPort();
  if (refuse) recorded.refuse = refuse;
  recorded.delayMs = delayMs;
  const release = isHeld ? recorded.hold() : () => undefined;
  const forwarder = aForwarder({ journal, port: recorded.port, ...options });
  if (isHeld) await expect.poll(() => recorded.calls.length).toBe(1);
  const isEmpty = () => expect.poll(() => journal.depth()).toBe(0);
  return { journal, recorded, forwarder, release, isEmpty };
}
