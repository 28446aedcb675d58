import { isCancellation } from '@temporalio/workflow';
import type { Notify } from '../domain/notify.js';
import { type OrderChange, toOrderChange } from '../domain/order-change.js';
import type { OrderTrail } from '../domain/trail.js';
import { tellReceiver } from './receivers.js';

/** Tells others of changes, one after the other, so that each sees them in their order. */
export interface Notifier {
  tell(trail: OrderTrail): void;
  /** Resolves when all that was told has been taken or refused. */
  settled(): Promise<void>;
  /** One line for each receiver that could not be told, for the UI. */
  undelivered: string[];
}

/** A receiver that has ended is named in the run's details; it never ends the following of an order. */
export function createNotifier(receivers: Notify[], told: OrderChange | null): Notifier {
  const undelivered: string[] = [];
  let last = told;
  let queue: Promise<void> = Promise.resolve();

  async function send(receiver: Notify, change: OrderChange): Promise<void> {
    try {
      await tellReceiver(receiver, change, undelivered);
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }

  return {
    undelivered,
    tell(trail) {
      const change = toOrderChange(trail);
      const isNews = change.outcome !== (last?.outcome ?? null) || change.rawStatus !== (last?.rawStatus ?? null);
      if (!isNews) return;
      last = change;
      queue = queue.then(async () => {
        await Promise.all(receivers.map((receiver) => send(receiver, change)));
      });
    },
    settled: () => queue,
  };
}
