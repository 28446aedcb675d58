import type { Subscriber } from '../subscription/subscribers.js';
import { createWorkQueue } from '../work-queue.js';
import { type DeliveryLedger, isDelivered } from './ledger.js';
import type { DeliverySender } from './sender.js';
import { type DeliverySettings, pauseBefore } from './settings.js';
import type { Delivery } from './writer.js';

export interface AttemptPorts {
  settings(): DeliverySettings;
  ledger: DeliveryLedger;
  sender: DeliverySender;
  /** Divides every wait. */
  speed: number;
  /** Undefined: the subscriber does not exist any more. */
  findSubscriber(id: string): Pick<Subscriber, 'retries'> | undefined;
}

/** Further attempts follow an address without an answer and a failure of the receiver (published 2.1, for a neighbour). */
const isWorthRetrying = (answer: number | null): boolean => answer === null || answer >= 500;

/** Sends deliveries, a limited number at a time, and again where the subscription asks for it. */
export function createDeliveryAttempts({ settings, ledger, sender, speed, findSubscriber }: AttemptPorts) {
  let isClosed = false;
  const timers = new Set<NodeJS.Timeout>();
  const queue = createWorkQueue(attempt, () => settings().concurrency);

  function later(waitMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, waitMs / speed).unref();
    timers.add(timer);
  }

  async function send({ facts, message }: Delivery, number: number): Promise<number | null> {
    const at = new Date().toISOString();
    const outcome = await sender.post(message, settings().timeoutMs);
    if (!isClosed) ledger.record({ at, ...facts, attempt: number, ...outcome });
    return outcome.answer;
  }

  async function attempt({ delivery, number }: { delivery: Delivery; number: number }): Promise<void> {
    const answer = await send(delivery, number);
    if (!isDelivered(answer)) retry(delivery, number, answer);
  }

  function retry(delivery: Delivery, number: number, answer: number | null): void {
    const retries = findSubscriber(delivery.facts.subscriberId)?.retries ?? settings().retries;
    if (number > retries || isClosed || !isWorthRetrying(answer)) {
      ledger.countGivenUp();
      return;
    }
    ledger.countRetrying(1);
    later(pauseBefore(number), () => {
      ledger.countRetrying(-1);
      if (isWanted(delivery)) queue.add({ delivery, number: number + 1 });
      else ledger.countGivenUp();
    });
  }

  const isWanted = ({ facts }: Delivery): boolean =>
    findSubscriber(facts.subscriberId) !== undefined && (facts.cause === 'command' || settings().enabled);

  return {
    /** Queues the delivery after a wait. */
    submit(delivery: Delivery, waitMs = 0): void {
      if (waitMs === 0) queue.add({ delivery, number: 1 });
      else later(waitMs, () => queue.add({ delivery, number: 1 }));
    },
    /** Sends the delivery at once, without the queue. Gives the answer to the first attempt. */
    async sendNow(delivery: Delivery, { isRetried }: { isRetried: boolean }): Promise<number | null> {
      const answer = await send(delivery, 1);
      if (isRetried && !isDelivered(answer)) retry(delivery, 1, answer);
      return answer;
    },
    isClosed: () => isClosed,
    async close(): Promise<void> {
      isClosed = true;
      queue.close();
      for (const timer of timers) clearTimeout(timer);
      await sender.close();
    },
  };
}
