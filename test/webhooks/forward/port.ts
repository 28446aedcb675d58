import { onTestFinished } from 'vitest';
import { TemporalUnavailable } from '../../../src/webhooks/delivery-port.js';
import { createForwarder, type Forwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';

/** One call to Temporal, as text: `order 42: <delivery ids>`, `report 42: ...`, `parked noOrderId: ...`. */
export interface RecordedPort {
  port: ForwarderOptions['port'];
  calls: string[];
  /** Ids of the deliveries that Temporal has, with repetitions. */
  delivered: string[];
  /** What to reject this call with; undefined lets it pass. */
  refuse: (call: string) => Error | undefined;
  /** Every call takes this. */
  delayMs: number;
  /** From now on calls end only when what this gives is called. */
  hold(): () => void;
}

export const unavailable = () => new TemporalUnavailable();

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
      await take(
        `order ${orderId}`,
        deliveries.map(({ deliveryId }) => deliveryId),
      );
      return 'signalled';
    },
    async toReport({ about }, deliveries) {
      await take(
        `report ${about}`,
        deliveries.map(({ deliveryId }) => deliveryId),
      );
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
