import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { activityInfo, Context, cancellationDetails, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Account } from '../../domain/account.js';
import type { AccountName } from '../../domain/keys.js';
import type { AccountWatchInput, WatchEnd, WatchOrderInput, WatchPulse } from '../../domain/watch.js';
import { plainFailure } from '../failures.js';
import { Hold, type HoldPorts, type WatchPace } from './hold.js';
import { WatchProcess } from './watch-process.js';

/** The ports of the watches. */
export interface WatchingPorts extends HoldPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  isLeaving(): boolean;
  pace?: Partial<WatchPace>;
}

const defaultPace: WatchPace = {
  lists: [60_000, 60_000, 8 * 60_000],
  counts: 3_600_000,
  processes: 60_000,
  idle: 60_000,
  contact: 25_000,
  overlap: 10_000,
  detached: 180_000,
};

/** The worker gives the activity back, so that the run continues as new. */
const renewMs = 12 * 3_600_000;
const pulseEveryMs = 2_000;
const askElsewhereMs = 5_000;
const firstListWithinMs = 3_000;
/** Reads may ask for the watch of their account so often. */
const startedForMs = 60_000;
/** The run of the watch is closed by then. */
const startAgainMs = 5_000;
/** A worker with hundreds of accounts must not burden Temporal at its start. */
const startEveryMs = 50;

/** The activities of watches, as workflows see them. */
export type WatchActivities = Watching['activities'];

/** The watches that this process holds. */
export class Watching {
  readonly #ports: WatchingPorts;
  readonly #pace: WatchPace;
  readonly #holds = new Map<AccountName, Hold>();
  readonly #startedAt = new Map<AccountName, number>();
  readonly #process: WatchProcess;
  // What a watch does belongs to no trace of the activity in which it began.
  readonly #outside = new AsyncResource('watches');

  constructor(ports: WatchingPorts) {
    const { now, isLeaving, runs, pace } = ports;
    this.#ports = ports;
    this.#pace = { ...defaultPace, ...pace };
    const isNeeded = (): boolean => this.#holds.size > 0;
    const contactMs = this.#pace.contact;
    this.#process = new WatchProcess({ ping: runs.ping, isLeaving, isNeeded, contactMs, now });
  }

  readonly activities = {
    /** Polls all live orders of the account until none is left. */
    watchOrders: ({ account }: AccountWatchInput): Promise<WatchEnd> => this.#watch(this.#ports.account(account)),

    /** A run hands its order to the watch that this process holds. */
    watchOrder: async (order: WatchOrderInput): Promise<void> => {
      const hold = this.#holds.get(order.account);
      if (!hold) throw plainFailure({ type: 'NotWatching', message: 'This worker has just left the watch.' });
      hold.add(order);
    },
  };

  /** The watches, to be shown. */
  held(): Hold[] {
    return [...this.#holds.values()];
  }

  /** Starts the run of the watch of an account, unless that was done a short while ago. Never rejects. */
  async start(name: AccountName): Promise<void> {
    const { now, runs } = this.#ports;
    const startedAt = this.#startedAt.get(name) ?? Number.NEGATIVE_INFINITY;
    if (this.#holds.has(name) || now() - startedAt < startedForMs) return;
    this.#startedAt.set(name, now());
    await runs.start(name).catch(() => this.#startedAt.delete(name));
  }

  /** The same for all accounts of a worker that has just started: it may be long until a run asks for its watch. */
  async startAll(names: readonly AccountName[]): Promise<void> {
    for (const name of names) {
      if (this.#ports.isLeaving()) return;
      await this.start(name);
      await pause(startEveryMs, undefined, { ref: false });
    }
  }

  async #watch(account: Account): Promise<WatchEnd> {
    const hold = this.#holdOf(account);
    const until = this.#ports.now() + renewMs;
    hold.attempts += 1;
    if (!isHandedOver()) hold.overlapsUntil = this.#ports.now() + this.#pace.overlap;
    try {
      const stop = AbortSignal.any([cancellationSignal(), this.#process.leaving]);
      const rest = (ms: number): Promise<void> =>
        pause(ms, undefined, { signal: stop, ref: false }).catch(() => undefined);
      await Promise.race([hold.listed, rest(firstListWithinMs)]);
      for (;;) {
        heartbeat(hold.pulse());
        if (this.#ports.isLeaving()) throw handedOver(hold);
        if (cancellationSignal().aborted) await Context.current().cancelled; // rejects
        if (hold.isIdle()) return 'idle';
        if (this.#ports.now() >= until) return 'renew';
        await hold.tell().catch(() => undefined); // again at the next turn
        await rest(pulseEveryMs);
      }
    } finally {
      hold.attempts -= 1;
      await this.#leave(hold, this.#ports.now() >= until);
    }
  }

  #holdOf(account: Account): Hold {
    const held = this.#holds.get(account.name);
    if (held) return held;
    const begun = this.#outside.runInAsyncScope(() => new Hold(account, this.#ports, this.#pace, this.#process));
    this.#holds.set(account.name, begun);
    this.#process.begin();
    return begun;
  }

  /** After an attempt of the activity. While Temporal does not hear of this process, the polls go on. */
  async #leave(hold: Hold, isRenewed: boolean): Promise<void> {
    const { name } = hold.account;
    const { timedOut = false, notFound = false, cancelRequested = false } = cancellationDetails() ?? {};
    const hasOrders = hold.polls.size > 0;
    if (timedOut || isRenewed) void this.#detach(hold);
    else await this.#end(hold);
    // An operator may have ended the run of the watch, or is about to have.
    if (!hasOrders || !(notFound || cancelRequested)) return;
    void pause(startAgainMs, undefined, { ref: false }).then(() => this.#ports.runs.start(name).catch(() => undefined));
  }

  async #detach(hold: Hold): Promise<void> {
    const { now, isLeaving, runs } = this.#ports;
    const until = now() + this.#pace.detached;
    while (hold.attempts === 0 && now() < until && !isLeaving()) {
      await pause(askElsewhereMs, undefined, { ref: false });
      if (await runs.isElsewhere(hold.account.name).catch(() => false)) break;
    }
    await this.#end(hold);
  }

  async #end(hold: Hold): Promise<void> {
    if (hold.attempts > 0) return;
    if (this.#holds.get(hold.account.name) === hold) this.#holds.delete(hold.account.name);
    this.#startedAt.delete(hold.account.name); // the next order starts it anew, at once
    await hold.end();
  }
}

/** Temporal hands the last heartbeat to the next attempt. */
function handedOver(hold: Hold): Error {
  heartbeat({ ...hold.pulse(), isLeft: true } satisfies WatchPulse);
  return plainFailure({
    type: 'HandedOver',
    message: 'This worker stops; another one takes the watch.',
    category: 'BENIGN',
    nextRetryDelay: 1,
  });
}

/** No process holds the watch any more. Otherwise Temporal gave up the one before, which may poll on for some seconds. */
function isHandedOver(): boolean {
  const { attempt, heartbeatDetails } = activityInfo();
  return attempt === 1 || (heartbeatDetails as WatchPulse | undefined)?.isLeft === true;
}
