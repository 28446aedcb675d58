import { setMaxListeners } from 'node:events';
import TinyQueue from 'tinyqueue';
import type { MonotonicClock, WallClock } from '../../clock.js';
import { interfaceTerms } from '../../contracts/contract-profile.js';
import type { Account } from '../../domain/account.js';
import type { OrderId } from '../../domain/keys.js';
import { isSameStatus } from '../../domain/order/status.js';
import type { OrderReading } from '../../domain/order/trail.js';
import type { OrderCounts } from '../../domain/subscription/state.js';
import type { ListedOrder, WatchOrderInput } from '../../domain/watch.js';
import { toReadTrouble } from '../looking.js';
import type { OrderReader } from '../order.js';
import type { Turns } from './rates.js';
import { type AccountTrouble, createAccountTrouble } from './trouble.js';
import { type TakenOver, WatchedOrder, type WatchedRuns, type WatchParts } from './watched-order.js';

/** What the metrics count of polls. */
export interface PollEvents {
  polled?(account: string, outcome: 'unchanged' | 'changed' | 'failed', lateMs: number): void;
}

/** The ports of the polls of one account. */
export interface PollPorts {
  readOrder: OrderReader;
  runs: WatchedRuns;
  /** When the next poll may be sent. */
  turns: Turns;
  mayAsk: WatchParts['mayAsk'];
  /** This process records changes in a store. */
  stores?: boolean;
  onHint: WatchParts['onHint'];
  events: PollEvents;
  warn(message: string, about: { account: string; orderId?: OrderId; error: unknown }): void;
  now: WallClock;
  monotonic: MonotonicClock;
  random: () => number;
}

/** Temporal did not answer, or the code has a bug. */
const againMs = 5_000;
/** The loop looks at least so often, since other calls take from the budget. */
const longestRestMs = 1_000;
/** An order whose poll met the trouble of the account waits for a pace, and for no longer. */
const mostBehindMs = 60_000;
/** The most polls in flight. */
const mostInFlight = 64;
/** A heartbeat must stay well below the 2 MB that a server takes. */
const mostHandedOver = 10_000;
/** The slowest answers of the service. A poll that takes longer counts as late. */
const slowestAnswerMs = 20_000;

/** Polls all live orders of one account: the most overdue first, each by its pace, within the share of the budget. */
export class Polls {
  readonly #account: Account;
  readonly #ports: PollPorts;
  readonly #orders = new Map<OrderId, WatchedOrder>();
  /** Holds dropped and replaced orders, too, until they are due. */
  readonly #queue = new TinyQueue<WatchedOrder>([], (a, b) => a.due - b.due);
  readonly #trouble: AccountTrouble;
  readonly #stopping = new AbortController();
  readonly #parts: WatchParts;
  /** How the changes of orders were found. */
  readonly counts: OrderCounts = { read: 0, delivered: 0 };
  /** The oldest first. */
  readonly #inFlight = new Set<WatchedOrder>();
  #wake = (): void => undefined;
  /** Requests so far. */
  sent = 0;

  constructor(account: Account, ports: PollPorts) {
    const { runs, mayAsk, onHint, stores, now, monotonic, random } = ports;
    this.#account = account;
    this.#ports = ports;
    this.#trouble = createAccountTrouble(ports);
    const parts = { account, runs, counts: this.counts, mayAsk, onHint, now, monotonic, random };
    this.#parts = stores ? { ...parts, stores: true } : parts;
    setMaxListeners(0, this.#stopping.signal); // each poll listens
  }

  /** Polls until it is stopped. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const restMs = this.#restMs();
      if (restMs > 0) {
        await this.#rest(restMs);
        continue;
      }
      const order = this.#queue.pop();
      if (!order || !this.#has(order)) continue;
      this.#ports.turns.take();
      this.sent += 1;
      this.#inFlight.add(order);
      void this.#poll(order).finally(() => {
        this.#inFlight.delete(order);
        this.#wake();
      });
    }
  }

  stop(): void {
    this.#stopping.abort();
    this.#wake();
  }

  /** A run hands over its order. False: it is here already. */
  add(shown: WatchOrderInput): boolean {
    const isNew = !this.#orders.has(shown.orderId);
    this.#enter(shown);
    return isNew;
  }

  /** Adopts the orders of a list. `dues`: when the process before would have polled them, by the monotonic clock. */
  adopt(listed: readonly ListedOrder[], dues: ReadonlyMap<string, number>): void {
    for (const { isExact, ...shown } of listed) {
      const known = this.#orders.get(shown.orderId);
      if (!known) this.#enter(shown, { isExact, due: dues.get(shown.orderId) });
      else known.isDoubtful ||= !isSameStatus(known.shown.rawStatus, shown.rawStatus);
    }
  }

  /** Drops the orders that no list shows, unless their run is open or they were added after `settledAt` (monotonic). */
  async dropOthers(listed: ReadonlySet<OrderId>, settledAt: number): Promise<void> {
    for (const [orderId, order] of this.#orders) {
      if (listed.has(orderId) || order.addedAt > settledAt) continue;
      const run = await this.#ports.runs.readShown(order.shown);
      if (!run?.isOpen) this.#drop(order);
    }
  }

  /** For the process that takes the watch over: when it has to poll which order. Of very many orders those that are due first. */
  dueInMs(): Record<string, number> {
    const at = this.#ports.monotonic();
    const dues = [...this.#orders].map(([orderId, { due }]) => [orderId, Math.round(due - at)] as const);
    if (dues.length > mostHandedOver) dues.sort(([, a], [, b]) => a - b);
    return Object.fromEntries(dues.slice(0, mostHandedOver));
  }

  get size(): number {
    return this.#orders.size;
  }

  /** The trouble of the whole account that a person is shown. Undefined: no poll has said anything yet. */
  get attention() {
    return this.#trouble.shown();
  }

  /**
   * Lateness of the most overdue order in milliseconds. It also grows while the loop is stuck or polls do not return.
   */
  get lateMs(): number {
    const at = this.#ports.monotonic();
    const waiting = this.#queue.peek()?.due ?? at;
    const [sent] = this.#inFlight;
    const begun = sent === undefined ? at : sent.due + slowestAnswerMs;
    return Math.max(0, at - waiting, at - begun);
  }

  #restMs(): number {
    const next = this.#queue.peek();
    const most = this.#trouble.isOn() ? 1 : mostInFlight;
    if (next === undefined || this.#inFlight.size >= most) return longestRestMs;
    return Math.max(next.due - this.#ports.monotonic(), this.#trouble.pauseMs(), this.#ports.turns.waitMs());
  }

  async #rest(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, longestRestMs)).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #enter(shown: WatchOrderInput, taken?: TakenOver): void {
    const order = new WatchedOrder(shown, this.#parts, taken, this.#orders.get(shown.orderId));
    this.#orders.set(shown.orderId, order);
    this.#put(order, order.due);
  }

  #put(order: WatchedOrder, due: number): void {
    if (!this.#has(order)) return;
    order.due = due;
    this.#queue.push(order);
    if (this.#queue.peek() === order) this.#wake();
  }

  /** Neither dropped, nor replaced since its run handed it over again? */
  #has(order: WatchedOrder): boolean {
    return this.#orders.get(order.shown.orderId) === order;
  }

  #drop(order: WatchedOrder): void {
    if (this.#has(order)) this.#orders.delete(order.shown.orderId);
  }

  async #poll(order: WatchedOrder): Promise<void> {
    const { monotonic, events, readOrder } = this.#ports;
    const { signal } = this.#stopping;
    const lateMs = monotonic() - order.due;
    const tell = (outcome: 'unchanged' | 'changed' | 'failed') => events.polled?.(this.#account.name, outcome, lateMs);
    let reading: OrderReading;
    try {
      reading = await readOrder(this.#account, order.shown.orderId, { signal, isPoll: true });
    } catch (error) {
      if (signal.aborted) return;
      tell('failed');
      await this.#suffer(order, error);
      return;
    }
    this.#trouble.over();
    if (!this.#has(order)) return; // its run has handed it over anew, with what it shows by now
    try {
      const found = await order.compare(reading);
      tell(found === 'unchanged' ? 'unchanged' : 'changed');
      if (found === 'ended') this.#drop(order);
      else this.#put(order, order.nextDue(found));
    } catch (error) {
      this.#failed('what a poll found could not be told', order, error);
    }
  }

  async #suffer(order: WatchedOrder, error: unknown): Promise<void> {
    const { monotonic } = this.#ports;
    const { orderId } = order.shown;
    const { readOperation: operation } = interfaceTerms[this.#account.interface];
    const trouble = toReadTrouble(error, { account: this.#account.name, orderId, operation });
    if (!trouble) return this.#failed('a poll failed', order, error);
    this.#trouble.add(orderId, trouble, this.size);
    // Behind the others, so that each pause ends with another order.
    if (this.#trouble.isOn()) return this.#put(order, Math.min(order.nextDue(), monotonic() + mostBehindMs));
    try {
      const next = await order.suffer(trouble);
      if (next === 'ended') this.#drop(order);
      else this.#put(order, next);
    } catch (failure) {
      this.#failed('the trouble of an order could not be told', order, failure);
    }
  }

  #failed(what: string, order: WatchedOrder, error: unknown): void {
    const { account, orderId } = order.shown;
    if (!this.#stopping.signal.aborted) this.#ports.warn(what, { account, orderId, error });
    this.#put(order, this.#ports.monotonic() + againMs);
  }
}
