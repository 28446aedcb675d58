import { setTimeout as pause } from 'node:timers/promises';
import type { Account } from '../../domain/account.js';
import { iso } from '../../domain/instant.js';
import type { AccountName, OrderId } from '../../domain/keys.js';
import type { ChangeCounts } from '../../domain/subscription/state.js';
import {
  type ListedOrder,
  pollsPerSecond,
  type WatchOrderInput,
  type WatchPulse,
  type WatchTold,
} from '../../domain/watch.js';
import { type PollPorts, Polls } from './polls.js';
import { createTurns, createUsage, type Turns, type Usage } from './rates.js';
import type { WatchedRuns } from './watched-order.js';

/** Temporal, as the watches of a process need it. */
export interface WatchPort extends WatchedRuns {
  /** The live orders of an account by visibility, which may lag, page by page. */
  list(account: AccountName): AsyncIterable<ListedOrder[]>;
  /** Starts the run of the watch, or joins the open one. */
  start(account: AccountName): Promise<void>;
  tell(account: AccountName, told: WatchTold): Promise<void>;
  /** Tells the subscription of the account, if there is one. */
  tellCounts(account: AccountName, counts: ChangeCounts): Promise<void>;
  /** How many processes make calls of the account, at least one. */
  processes(account: AccountName): Promise<number>;
  /** Do activities of the account go to workers of another version? False if this process has no version. */
  isSucceeded(account: AccountName): Promise<boolean>;
  /** The number of all watches, divided by that of the processes that could have this account's. */
  fairShare(account: AccountName): Promise<number>;
  ping(): Promise<void>;
}

/** How often a watch does what it does beside polls, in milliseconds. */
export interface WatchPace {
  /** Lists of live orders: after the first one, and then. Within ten minutes an order whose run was ended from outside is dropped. */
  lists: readonly number[];
  counts: number;
  /** Without an order for so long, and none in the list since, the watch ends. */
  idle: number;
  /** Checks for workers of a newer version. A watch that comes back all the same is held for as long. */
  versions: number;
  /** A process with more watches than its share gives some back. */
  shares: number;
}

/** What all watches of a process share. */
export interface WatchProcess {
  /** Surely no other process holds its watches. */
  isSure(): boolean;
  /** For lists of live orders. */
  lists: Turns;
  /** For questions to runs, which may have to be replayed. */
  asks: Turns;
}

/** What is known of the process that had the watch before. */
export interface HoldBefore {
  /** For so long it may poll on; 0: it has stopped. */
  pollsOnForMs: number;
  /** When it would have polled its orders. */
  dueInMs: NonNullable<WatchPulse['dueInMs']>;
}

/** The ports of one watch. */
export interface HoldPorts extends Omit<PollPorts, 'runs' | 'turns' | 'onHint' | 'mayAsk'> {
  runs: WatchPort;
  usage: Pick<Usage, 'perSecond'>;
  /** Takes the orders that runs hand over to the watch of the account. */
  serve(account: AccountName): Promise<{ stop(): Promise<void> }>;
  /** How this process names itself to Temporal. */
  worker: string;
}

/** An order that a run handed over may not be listed yet. */
const settleMs = 120_000;
const longestPauseMs = 30_000;
const countProcessesEveryMs = 60_000;
/** A late timer is made up for by so much, and no more: a process that was paused must not send all at once. */
const catchUpMs = 50;

/** The watch of one account, for one attempt of the activity. */
export class Hold {
  readonly account: Account;
  readonly polls: Polls;
  /** Should a process of another version take the watch? */
  isSucceeded = false;
  /** Does this process have more watches than its share? */
  isSurplus = false;
  /** Resolves once the orders of the account were listed. */
  readonly listed: Promise<void>;
  readonly #ports: HoldPorts;
  readonly #process: WatchProcess;
  readonly #idleMs: number;
  readonly #ending = new AbortController();
  readonly #since: string;
  /** When the process before would have polled which order, by the monotonic clock, until all orders were listed. */
  #dues: ReadonlyMap<string, number>;
  readonly #served: Promise<{ stop(): Promise<void> }>;
  /** Reads of runs. */
  readonly #heardOf: Usage;
  #processes = 2; // until they were counted
  #hadOrdersAt: number;
  #listedEmptyAt = Number.NEGATIVE_INFINITY;
  #told: string | undefined;
  #countedFrom: string;
  #ended: Promise<void> | undefined;

  constructor(account: Account, ports: HoldPorts, pace: WatchPace, process: WatchProcess, before: HoldBefore) {
    const { now, monotonic, runs, usage, warn, serve } = ports;
    const { name } = account;
    this.account = account;
    this.#ports = ports;
    this.#process = process;
    this.#idleMs = pace.idle;
    this.#since = iso(now());
    this.#dues = new Map(Object.entries(before.dueInMs).map(([orderId, inMs]) => [orderId, monotonic() + inMs]));
    this.#countedFrom = this.#since;
    this.#hadOrdersAt = monotonic();
    this.#heardOf = createUsage(monotonic);
    // What this process sends other processes send, too, each as much; and hints and new orders tell of reads wherever they are made.
    const used = (): number => Math.max(usage.perSecond(name) * this.#processes, this.#heardOf.perSecond(name));
    const overlapsUntil = monotonic() + before.pollsOnForMs;
    const isOnlyOne = (): boolean => process.isSure() && monotonic() >= overlapsUntil;
    const rate = () => pollsPerSecond(account.requestsPerSecond, { used: used(), isOnlyOne: isOnlyOne() });
    const onHint = (): void => this.#heardOf.count(name);
    const turns = createTurns(rate, catchUpMs, monotonic);
    this.polls = new Polls(account, { ...ports, turns, onHint, mayAsk: () => process.asks.take() });
    this.#served = serve(name);
    this.#served.catch((error: unknown) => warn('no run can hand over its order', { account: name, error }));
    void this.polls.run();
    this.listed = new Promise((resolve) => {
      void this.#repeat(() => this.#list().then(resolve), pace.lists, 0);
    });
    const countProcesses = async (): Promise<void> => {
      this.#processes = await runs.processes(name);
    };
    void this.#repeat(countProcesses, [countProcessesEveryMs], 0);
    void this.#repeat(() => this.#tellCounts(), [pace.counts], pace.counts);
    const checkVersion = async (): Promise<void> => {
      this.isSucceeded = await runs.isSucceeded(name);
    };
    void this.#repeat(checkVersion, [pace.versions], pace.versions);
  }

  /** A run hands over its order. Before the first time it has read the order itself. */
  add(order: WatchOrderInput): void {
    if (this.polls.add(order)) this.#heardOf.count(this.account.name);
  }

  /** Could another process have the watch? */
  get isShared(): boolean {
    return this.#processes > 1;
  }

  isIdle(): boolean {
    if (this.polls.size > 0) this.#hadOrdersAt = this.#ports.monotonic();
    return this.#listedEmptyAt - this.#hadOrdersAt >= this.#idleMs;
  }

  /** Tells the run of the watch who polls, and the trouble of the account, when one of them is new. */
  async tell(): Promise<void> {
    const { attention, size: orders } = this.polls;
    if (attention === undefined || JSON.stringify(attention) === this.#told) return;
    await this.#ports.runs.tell(this.account.name, { worker: this.#ports.worker, orders, attention });
    this.#told = JSON.stringify(attention);
  }

  pulse(): WatchPulse {
    const { size: orders, lateMs } = this.polls;
    return { orders, lateMs, since: this.#since };
  }

  get isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Stops to poll at once. Resolves once this process takes no more orders for the watch. Never rejects. */
  end(): Promise<void> {
    this.polls.stop();
    this.#ending.abort();
    const leave = async (): Promise<void> => {
      await this.#served.then(({ stop }) => stop()).catch(() => undefined);
      await this.#tellCounts().catch(() => undefined);
    };
    this.#ended ??= leave();
    return this.#ended;
  }

  async #list(): Promise<void> {
    const { monotonic, runs } = this.#ports;
    const { lists } = this.#process;
    while (!lists.take()) await this.#pause(lists.waitMs());
    const startedAt = monotonic();
    const listed = new Set<OrderId>();
    for await (const page of runs.list(this.account.name)) {
      if (this.isEnding) return;
      this.polls.adopt(page, this.#dues);
      for (const { orderId } of page) listed.add(orderId);
    }
    this.#dues = new Map();
    await this.polls.dropOthers(listed, startedAt - settleMs);
    if (listed.size === 0) this.#listedEmptyAt = startedAt;
  }

  async #tellCounts(): Promise<void> {
    const { runs, now } = this.#ports;
    const until = iso(now());
    const { counts } = this.polls;
    const { read, delivered } = counts;
    Object.assign(counts, { read: 0, delivered: 0 });
    try {
      if (read + delivered > 0) await runs.tellCounts(this.account.name, { read, delivered, from: this.#countedFrom });
      this.#countedFrom = until;
    } catch (error) {
      counts.read += read;
      counts.delivered += delivered;
      throw error;
    }
  }

  /** Rejects when this process leaves the watch. */
  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#ending.signal, ref: false });
  }

  /** Repeats while this process holds the watch; after an error soon again. */
  async #repeat(what: () => Promise<void>, waits: readonly number[], firstAfterMs: number): Promise<void> {
    const { warn, random } = this.#ports;
    let waitMs = firstAfterMs;
    for (let done = 0, failed = 0; ; ) {
      try {
        await this.#pause(waitMs);
        await what();
        waitMs = (waits[Math.min(done, waits.length - 1)] ?? 0) * (1 - random() * 0.1);
        [done, failed] = [done + 1, 0];
      } catch (error) {
        if (this.isEnding) return;
        failed += 1;
        waitMs = Math.min(1_000 * 2 ** failed, longestPauseMs);
        if (failed === 1) warn('the watch cannot do its work', { account: this.account.name, error });
      }
    }
  }
}
