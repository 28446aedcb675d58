import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import {
  activityInfo,
  CompleteAsyncError,
  Context,
  cancellationDetails,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity';
import type { Account } from '../../domain/account.js';
import type { AccountName } from '../../domain/keys.js';
import type { NextFinding, WatchEnd, WatchOrderInput, WatchOrdersInput, WatchPulse } from '../../domain/watch.js';
import { plainFailure } from '../failures.js';
import { runOfActivity, wasTriedBefore } from '../runs.js';
import { Hold, type HoldBefore, type HoldPorts, type WatchPace, type WatchProcess } from './hold.js';
import { createTurns } from './rates.js';

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
  idle: 60_000,
  versions: 300_000,
  shares: 120_000,
};

/** After this time the worker gives the activity back, so that the run continues as new. */
const renewMs = 12 * 3_600_000;
const pulseEveryMs = 2_000;
const firstListWithinMs = 3_000;
/** Reads may ask for the watch of their account so often. */
const startedForMs = 60_000;
/**
 * A process whose activity has timed out could not heartbeat for half a minute, or stood still, and polls at a quarter
 * of the rate by itself. This is for what it does before it notices.
 */
const silentMs = 10_000;
/** The SDK sends a heartbeat every 24 s, and its answer tells the process that its activity has ended. */
const unawareMs = 26_000;
/** The run of the watch is closed by then. */
const startAgainMs = 5_000;
/** A worker with hundreds of accounts must not burden Temporal at its start. */
const startEveryMs = 50;
const tickMs = 200;
/** A process has some open polls of the queue. Each attempt takes one of them, and one of the account's requests. */
const refuseMs = 5_000;
const refuseAgainMs = 200;
const pingEveryMs = 5_000;
/** Without Temporal for so long, another process may hold the watches. */
const contactMs = 25_000;
/** It polls on for so long: what it finds it tells later. */
const withoutTemporalMs = 180_000;
/** All processes together stay below two calls of visibility a second, if they are three; a few at once do no harm. */
const listEveryMs = 1_500;
const askEveryMs = 200;
const atOnce = 3;

/** The activities of watches, as workflows see them. */
export type WatchActivities = Watching['activities'];

/** The watches that this process holds. */
export class Watching {
  readonly #ports: WatchingPorts;
  readonly #pace: WatchPace;
  readonly #holds = new Map<AccountName, Hold>();
  readonly #startedAt = new Map<AccountName, number>();
  /** Watches that were given back so that another process takes them. */
  readonly #refusesUntil = new Map<AccountName, number>();
  readonly #process: WatchProcess;
  readonly #leaving = new AbortController();
  #isLooking = false;
  #contactAt = Number.NEGATIVE_INFINITY;
  #pausedAt = Number.NEGATIVE_INFINITY;
  // What a watch does belongs to no trace of the activity in which it began.
  readonly #outside = new AsyncResource('watches');

  constructor(ports: WatchingPorts) {
    const { monotonic } = ports;
    this.#ports = ports;
    this.#pace = { ...defaultPace, ...ports.pace };
    const turns = (everyMs: number) => createTurns(() => 1_000 / everyMs, (atOnce - 1) * everyMs, monotonic);
    const isSure = (): boolean => monotonic() - this.#contactAt < contactMs && monotonic() - this.#pausedAt > contactMs;
    this.#process = { isSure, lists: turns(listEveryMs), asks: turns(askEveryMs) };
  }

  readonly activities = {
    /** Polls all live orders of the account until none is left. */
    watchOrders: (input: WatchOrdersInput): Promise<WatchEnd> =>
      this.#watch(this.#ports.account(input.account), holdBefore(input)),

    /** Hands the order to the watch, and stays open until a poll finds something that its run does not show. */
    nextReading: async (order: WatchOrderInput): Promise<NextFinding> => {
      this.#add(order);
      throw new CompleteAsyncError();
    },

    /** Hands the order to the watch, or tells it of a pick-up that a caller has moved. */
    watchOrder: async (order: WatchOrderInput): Promise<void> => this.#add(order),
  };

  #add(order: WatchOrderInput): void {
    const hold = this.#holds.get(order.account);
    if (!hold || hold.isEnding)
      throw plainFailure({ type: 'NotWatching', message: 'This worker has just left the watch.', nextRetryDelay: 500 });
    hold.add(order);
  }

  /** The watches, to be shown. */
  held(): Hold[] {
    return [...this.#holds.values()];
  }

  /** Starts the run of the watch of an account, unless that was done a short while ago. Never rejects. */
  async start(name: AccountName): Promise<void> {
    const { monotonic, runs } = this.#ports;
    const startedAt = this.#startedAt.get(name) ?? Number.NEGATIVE_INFINITY;
    if (this.#holds.has(name) || monotonic() - startedAt < startedForMs) return;
    this.#startedAt.set(name, monotonic());
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

  async #watch(account: Account, before: HoldBefore): Promise<WatchEnd> {
    const { monotonic, isLeaving } = this.#ports;
    if (monotonic() < (this.#refusesUntil.get(account.name) ?? Number.NEGATIVE_INFINITY))
      throw toAnother(refuseAgainMs);
    const hold = await this.#begin(account, before);
    const until = monotonic() + renewMs;
    try {
      const stop = AbortSignal.any([cancellationSignal(), this.#leaving.signal]);
      const rest = (ms: number): Promise<void> =>
        pause(ms, undefined, { signal: stop, ref: false }).catch(() => undefined);
      await Promise.race([hold.listed, rest(firstListWithinMs)]);
      for (;;) {
        heartbeat(hold.pulse());
        if (isLeaving() || hold.isSurplus) throw handedOver(hold);
        if (cancellationSignal().aborted) await Context.current().cancelled; // rejects
        if (hold.isIdle()) return 'idle';
        if (hold.isSucceeded || monotonic() >= until) return 'renew';
        if (monotonic() - this.#contactAt > withoutTemporalMs) throw handedOver(hold);
        await hold.tell().catch(() => undefined); // again at the next turn
        await rest(pulseEveryMs);
      }
    } finally {
      await this.#end(hold);
      this.#startAgain(hold);
    }
  }

  /** The hold of this attempt of the activity takes the place of that of an attempt that Temporal has given up. */
  async #begin(account: Account, previous: HoldBefore): Promise<Hold> {
    for (let before = this.#holds.get(account.name); before; before = this.#holds.get(account.name))
      await this.#end(before);
    const hold = this.#outside.runInAsyncScope(
      () => new Hold(account, this.#ports, this.#pace, this.#process, previous),
    );
    this.#holds.set(account.name, hold);
    if (!this.#isLooking) void this.#outside.runInAsyncScope(() => this.#look());
    return hold;
  }

  async #end(hold: Hold): Promise<void> {
    const { name } = hold.account;
    await hold.end();
    if (this.#holds.get(name) !== hold) return;
    this.#holds.delete(name);
    this.#startedAt.delete(name); // the next order starts it anew, at once
  }

  /** An operator may have ended the run of the watch, or is about to have. */
  #startAgain({ account, polls }: Hold): void {
    const { notFound = false, cancelRequested = false } = cancellationDetails() ?? {};
    if (polls.size === 0 || !(notFound || cancelRequested)) return;
    const start = (): Promise<unknown> => this.#ports.runs.start(account.name).catch(() => undefined);
    void pause(startAgainMs, undefined, { ref: false }).then(start);
  }

  /** While this process holds a watch: does it reach Temporal, was it paused, does it have to leave? */
  async #look(): Promise<void> {
    const { monotonic, isLeaving, runs } = this.#ports;
    this.#isLooking = true;
    this.#contactAt = monotonic();
    let tickAt = monotonic();
    let shareAt = tickAt + this.#pace.shares;
    for (let pingAt = Number.NEGATIVE_INFINITY; this.#holds.size > 0; ) {
      if (isLeaving()) this.#leaving.abort();
      // The process was stopped or very slow, so another one may hold its watches by now. If the monotonic clock stops
      // while the machine sleeps, this goes unnoticed; the next heartbeat then reports that the watch was lost.
      if (monotonic() - tickAt > pingEveryMs) this.#pausedAt = monotonic();
      tickAt = monotonic();
      if (tickAt >= pingAt) {
        pingAt = tickAt + pingEveryMs;
        const reached = (): number => (this.#contactAt = monotonic());
        runs.ping().then(reached, () => undefined);
      }
      if (tickAt >= shareAt) {
        shareAt = tickAt + this.#pace.shares;
        void this.#share().catch(() => undefined); // again at the next turn
      }
      await pause(tickMs, undefined, { ref: false });
    }
    this.#isLooking = false;
  }

  /**
   * Gives back the watches beyond the share of this process, so that its death never stops all polls. Its own polls of
   * the queue may be the first to get them again, but not for long.
   */
  async #share(): Promise<void> {
    const shared = this.held().filter(({ isShared }) => isShared);
    const [first] = shared;
    if (first === undefined) return;
    const surplus = this.#holds.size - (await this.#ports.runs.fairShare(first.account.name));
    for (const hold of shared.slice(0, Math.max(0, surplus))) {
      hold.isSurplus = true;
      this.#refusesUntil.set(hold.account.name, this.#ports.monotonic() + refuseMs);
    }
  }
}

/** Temporal hands the last heartbeat to the next attempt. */
function handedOver(hold: Hold): Error {
  heartbeat({ ...hold.pulse(), isLeft: true, dueInMs: hold.polls.dueInMs() } satisfies WatchPulse);
  return toAnother(1);
}

const toAnother = (nextRetryDelay: number): Error =>
  plainFailure({
    type: 'HandedOver',
    message:
      'This worker gives the watch to another one: it stops, did not reach Temporal, or has more than its share.',
    category: 'BENIGN',
    nextRetryDelay,
  });

/**
 * How long the process that held the watch before may poll on. Not at all if its last heartbeat says so, or if its run
 * continued as new. A first attempt proves nothing: an operator may have terminated the run before or reset this one.
 */
function holdBefore({ renewedAs }: WatchOrdersInput): HoldBefore {
  const { attempt, heartbeatDetails } = activityInfo();
  const { isLeft = false, dueInMs = {} } = (heartbeatDetails as WatchPulse | undefined) ?? {};
  const isOver = isLeft || (renewedAs === runOfActivity().runId && !wasTriedBefore());
  if (isOver) return { pollsOnForMs: 0, dueInMs };
  return { pollsOnForMs: attempt > 1 ? silentMs : unawareMs, dueInMs };
}
