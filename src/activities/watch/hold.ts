import { setTimeout as pause } from 'node:timers/promises';
import type { Account } from '../../domain/account.js';
import { iso } from '../../domain/instant.js';
import type { AccountName } from '../../domain/keys.js';
import type { ChangeCounts } from '../../domain/subscription/state.js';
import type { WatchOrderInput, WatchPulse, WatchTold } from '../../domain/watch.js';
import { type PollEvents, type PollPorts, Polls } from './polls.js';
import { createShare, createUsage, type Usage } from './share.js';
import type { WatchProcess } from './watch-process.js';
import type { WatchedRuns } from './watched-order.js';

/** Temporal, as the watches of a process need it. */
export interface WatchPort extends WatchedRuns {
  /** The live orders of an account by visibility, which may lag and knows only status, attention and how the change was found. */
  list(account: AccountName): Promise<WatchOrderInput[]>;
  /** Starts the run of the watch, or joins the open one. */
  start(account: AccountName): Promise<void>;
  tell(account: AccountName, told: WatchTold): Promise<void>;
  /** Tells the subscription of the account, if there is one. */
  tellCounts(account: AccountName, counts: ChangeCounts): Promise<void>;
  /** Does another process hold the watch, or has its run ended? */
  isElsewhere(account: AccountName): Promise<boolean>;
  /** How many processes make calls of the account, at least one. */
  processes(account: AccountName): Promise<number>;
  ping(): Promise<void>;
}

/** How often a watch does what it does beside polls, in milliseconds. */
export interface WatchPace {
  /** Lists of live orders: after the first one, and then. Within ten minutes an order whose run was ended from outside is dropped. */
  lists: readonly number[];
  counts: number;
  processes: number;
  /** Without an order for so long, and none in the list since, the watch ends. */
  idle: number;
  /** Without Temporal for so long, another process may hold the watch. */
  contact: number;
  /** For so long a process may not have heard yet that Temporal has taken its watch away. */
  overlap: number;
  /** A process that Temporal does not reach goes on for so long: what it finds it tells later. */
  detached: number;
}

/** The ports of one watch. */
export interface HoldPorts extends Omit<PollPorts, 'runs' | 'share' | 'mayAsk'> {
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
const pulseOverMs = 10_000;

/** The watch of one account, while this process holds it. */
export class Hold {
  readonly account: Account;
  readonly polls: Polls;
  /** Resolves once the orders of the account were listed. */
  readonly listed: Promise<void>;
  /** Attempts of the activity; none while Temporal does not hear of this process. */
  attempts = 0;
  /** Until then the process that held the watch before may poll, too, in milliseconds since the epoch. */
  overlapsUntil = Number.NEGATIVE_INFINITY;
  readonly #ports: HoldPorts;
  readonly #process: WatchProcess;
  readonly #idleMs: number;
  readonly #ending = new AbortController();
  readonly #since: string;
  readonly #served: Promise<{ stop(): Promise<void> }>;
  /** Reads of runs. */
  readonly #heardOf: Usage;
  #processes = 2; // until they were counted
  #emptySince: number | null;
  #isListedEmpty = false;
  #told: string | undefined;
  #countedFrom: string;
  #sent: { at: number; polls: number; perSecond: number };

  constructor(account: Account, ports: HoldPorts, pace: WatchPace, process: WatchProcess) {
    const { now, runs, usage, warn, serve } = ports;
    const { name } = account;
    this.account = account;
    this.#ports = ports;
    this.#process = process;
    this.#idleMs = pace.idle;
    this.#since = iso(now());
    this.#countedFrom = this.#since;
    this.#emptySince = now();
    this.#sent = { at: now(), polls: 0, perSecond: 0 };
    this.#heardOf = createUsage(now);
    // What this process sends other processes send, too, each as much; and hints and new orders tell of reads wherever they are made.
    const used = (): number => Math.max(usage.perSecond(name) * this.#processes, this.#heardOf.perSecond(name));
    const isOnlyOne = (): boolean => this.attempts > 0 && process.isSure() && now() >= this.overlapsUntil;
    const standing = () => ({ used: used(), isOnlyOne: isOnlyOne() });
    const events: PollEvents = {
      ...ports.events,
      hinted: (account) => {
        this.#heardOf.count(name);
        ports.events.hinted?.(account);
      },
    };
    const share = createShare(account.requestsPerSecond, standing, now);
    this.polls = new Polls(account, { ...ports, events, share, mayAsk: () => process.asks.take() });
    this.#served = serve(name);
    this.#served.catch((error: unknown) => warn('no run can hand over its order', { account: name, error }));
    void this.polls.run();
    this.listed = new Promise((resolve) => {
      void this.#repeat(() => this.#list().then(resolve), pace.lists, 0);
    });
    const countProcesses = async (): Promise<void> => {
      this.#processes = await runs.processes(name);
    };
    void this.#repeat(countProcesses, [pace.processes], 0);
    void this.#repeat(() => this.#tellCounts(), [pace.counts], pace.counts);
  }

  /** A run hands over its order, which it has just read. */
  add(order: WatchOrderInput): void {
    this.#heardOf.count(this.account.name);
    this.polls.add(order);
  }

  isIdle(): boolean {
    if (this.polls.size > 0) [this.#emptySince, this.#isListedEmpty] = [null, false];
    else this.#emptySince ??= this.#ports.now();
    return this.#isListedEmpty;
  }

  /** Tells the run of the watch who polls, and the trouble of the account, when one of them is new. */
  async tell(): Promise<void> {
    const { attention, size: orders } = this.polls;
    if (attention === undefined || JSON.stringify(attention) === this.#told) return;
    await this.#ports.runs.tell(this.account.name, { worker: this.#ports.worker, orders, attention });
    this.#told = JSON.stringify(attention);
  }

  pulse(): WatchPulse {
    const { sent, size: orders, lateMs } = this.polls;
    const at = this.#ports.now();
    const elapsedMs = at - this.#sent.at;
    if (elapsedMs >= pulseOverMs) {
      const perSecond = Math.round(((sent - this.#sent.polls) / elapsedMs) * 10_000) / 10;
      this.#sent = { at, polls: sent, perSecond };
    }
    return { orders, lateMs, pollsPerSecond: this.#sent.perSecond, since: this.#since };
  }

  async end(): Promise<void> {
    this.polls.stop();
    this.#ending.abort();
    await this.#served.then(({ stop }) => stop()).catch(() => undefined);
    await this.#tellCounts().catch(() => undefined);
  }

  async #list(): Promise<void> {
    const { now, runs } = this.#ports;
    const { lists } = this.#process;
    while (!lists.take()) await this.#pause(lists.waitMs());
    const startedAt = now();
    const orders = await runs.list(this.account.name);
    if (this.#ending.signal.aborted) return;
    await this.polls.adopt(orders, startedAt - settleMs);
    const emptySince = this.#emptySince ?? startedAt;
    this.#isListedEmpty = orders.length === 0 && startedAt - emptySince >= this.#idleMs;
  }

  async #tellCounts(): Promise<void> {
    const { runs, now } = this.#ports;
    const until = iso(now());
    const counts = this.polls.takeCounts();
    try {
      if (counts.read + counts.delivered > 0)
        await runs.tellCounts(this.account.name, { ...counts, from: this.#countedFrom });
      this.#countedFrom = until;
    } catch (error) {
      this.polls.giveBack(counts);
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
        if (this.#ending.signal.aborted) return;
        failed += 1;
        waitMs = Math.min(1_000 * 2 ** failed, longestPauseMs);
        if (failed === 1) warn('the watch cannot do its work', { account: this.account.name, error });
      }
    }
  }
}
