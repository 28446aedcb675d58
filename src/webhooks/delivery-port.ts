import { Worker } from 'node:worker_threads';
import type { Account } from '../domain/account.js';
import type { DeliveryAbout, DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import type { ParkedDeliveryInput } from '../domain/parked.js';
import type { ProofCounts } from '../domain/subscription/proofs.js';
import type { SubscriptionMemo } from '../domain/subscription/subscription.js';
import type { FollowOrderKey, SubscriptionKey } from '../domain/workflow-ids.js';

/**
 * The most deliveries in one call: by default more than an address may send in the longest pause between two signals.
 */
export const deliveriesPerCall = 10_000;

/** How the ingress reaches Temporal. Every call ends within seconds, and the ingress may repeat a call that rejects. */
export interface DeliveryPort {
  /** Sends one signal for all deliveries to the run that takes the first, and starts the run of a report. The settings of the account say
   *  whether a delivery starts the following of a new order. It starts a following again that broke off, but not of an order
   *  that has ended at the service (I5). */
  toRun(about: DeliveryAbout, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
  /** Sends one signal for all deliveries to the run with this workflow id. False: there is no open one. */
  signal(workflowId: string, deliveries: DeliveryNotice[]): Promise<boolean>;
  /** Does Temporal know a run, open or not, that follows the order? */
  isKnown(order: FollowOrderKey): Promise<boolean>;
  /** Has the run read its order, has a report nothing to read for now or looked for ten minutes, or is there no open run? */
  isSettled(workflowId: string): Promise<boolean>;
  /** Parks a delivery until a person places it. Parking it again changes nothing. */
  park(delivery: ParkedDeliveryInput): Promise<void>;
  /** How many deliveries of the account wait for a person, by visibility, which is a second or two behind. */
  countParked(account: AccountName): Promise<number>;
  /** What the subscription accepts now; null if it never existed. */
  readSubscription(key: SubscriptionKey): Promise<SubscriptionMemo | null>;
  /** Sends the run of the subscription what this ingress counted at one of its addresses. False: there is no open run. */
  reportProofs(key: SubscriptionKey, counts: ProofCounts): Promise<boolean>;
  /** Resolves when Temporal answers. */
  ping(): Promise<void>;
}

/**
 * Temporal as a whole does not take deliveries: it is not reachable, too slow, out of quota, or it refuses us. All deliveries
 * wait, and the ingress does not try each order. Not for a run that takes no more signals, since only its deliveries wait.
 */
export class TemporalUnavailable extends FaretrailError<'TemporalUnavailable'> {
  override readonly name = 'TemporalUnavailable';

  constructor(options?: ErrorOptions) {
    super('TemporalUnavailable', 'Temporal does not take deliveries now', options);
  }
}

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
  new Worker(new URL('../ingress-thread.js', import.meta.url), { workerData: settings });

const restartAfterMs = 1_000;

/**
 * A `DeliveryPort` whose work is done in a thread of its own: what Temporal's client costs (gRPC, and async hooks that
 * make every promise cost more from its first call on) must not slow down those who deliver. When the thread dies, the calls
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
    toRun: (about, deliveries) => ask('toRun', about, deliveries),
    signal: (workflowId, deliveries) => ask('signal', workflowId, deliveries),
    isKnown: (order) => ask('isKnown', order),
    isSettled: (workflowId) => ask('isSettled', workflowId),
    park: (delivery) => ask('park', delivery),
    countParked: (account) => ask('countParked', account),
    readSubscription: (key) => ask('readSubscription', key),
    reportProofs: (key, counts) => ask('reportProofs', key, counts),
    ping: () => ask('ping'),
  };
}
