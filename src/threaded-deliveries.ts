import { Worker } from 'node:worker_threads';
import type { Account } from './domain/account.js';
import { FaretrailError } from './domain/errors.js';
import type { AccountName } from './domain/keys.js';
import type { DeliveryPort } from './webhooks/delivery-port.js';
import { TemporalUnavailable } from './webhooks/delivery-port.js';

/** What the thread needs to know beside the `TEMPORAL_*` settings. */
export interface ThreadSettings {
  taskQueue: string;
  untracked: Partial<Record<AccountName, Account['untracked']>>;
}

/** One call to the thread, and what it says to it. */
export interface Question {
  id: number;
  call: keyof DeliveryPort;
  args: unknown[];
}
export type Answer = { id: number; value: unknown } | { id: number; reason: string; isOut: boolean };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Starts the thread. */
export const startTemporalThread = (settings: ThreadSettings): Worker =>
  new Worker(new URL('./ingress-thread.js', import.meta.url), { workerData: settings });

const restartAfterMs = 1_000;

/**
 * A `DeliveryPort` whose work is done in a thread of its own: what Temporal's client costs (gRPC, and async hooks that
 * make every promise dearer from its first call on) must not slow down those who deliver. When the thread dies, the calls
 * under way reject with `TemporalUnavailable` and another one is started.
 */
export function createThreadedDeliveries(start: () => Worker, onDeath: (error: unknown) => void): DeliveryPort {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let thread: Worker | null = null;

  function open(): void {
    thread = start();
    thread.on('message', take);
    thread.on('error', onDeath);
    thread.on('exit', () => {
      thread = null;
      for (const { reject } of waiting.values()) reject(new TemporalUnavailable());
      waiting.clear();
      setTimeout(open, restartAfterMs);
    });
  }

  function take(answer: Answer): void {
    const asker = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('value' in answer) asker?.resolve(answer.value);
    else asker?.reject(answer.isOut ? new TemporalUnavailable() : new FaretrailError('ForwardFailed', answer.reason));
  }

  function ask<T>(call: keyof DeliveryPort, ...args: unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!thread) return reject(new TemporalUnavailable());
      lastId += 1;
      waiting.set(lastId, { resolve: resolve as Waiting['resolve'], reject });
      thread.postMessage({ id: lastId, call, args } satisfies Question);
    });
  }

  open();
  return {
    toOrder: (key, deliveries) => ask('toOrder', key, deliveries),
    toReport: (key, deliveries) => ask('toReport', key, deliveries),
    signal: (workflowId, deliveries) => ask('signal', workflowId, deliveries),
    isKnown: (about) => ask('isKnown', about),
    isSettled: (workflowId) => ask('isSettled', workflowId),
    park: (delivery) => ask('park', delivery),
    countParked: (account) => ask('countParked', account),
    readSubscription: (key) => ask('readSubscription', key),
    ping: () => ask('ping'),
  };
}
