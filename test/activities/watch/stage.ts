import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { Polls } from '../../../src/activities/watch/polls.js';
import { createTurns } from '../../../src/activities/watch/rates.js';
import type { Shown } from '../../../src/activities/watch/watched-order.js';
import { Watching, type WatchingPorts } from '../../../src/activities/watch/watching.js';
import type { Account } from '../../../src/domain/account.js';
import { readInstant } from '../../../src/domain/instant.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { concernIn } from '../../../src/domain/order/concern.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import type { ChangeCounts } from '../../../src/domain/subscription/state.js';
import {
  pollsPerSecond,
  type SeenChange,
  type WatchEnd,
  type WatchOrderInput,
  type WatchPulse,
  type WatchTold,
} from '../../../src/domain/watch.js';
import { partnerAccount } from '../../ride-api/accounts.js';
import { readingOf } from '../attempts.js';
import { iso, logger, minute, second, start } from '../temporal.js';
import { pass } from './time.js';

export const account: Account = {
  ...partnerAccount(),
  requestsPerSecond: 16,
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 },
};

export const ended = (rawStatus = 'Completed'): OrderReading => ({ ...readingOf(rawStatus), terminal: true });

/** What the run of an order knows. */
export interface Run extends Shown {
  since: number;
  followedSince: number;
  scheduledAt: string | null;
  pushed: boolean;
}

/** One attempt of the activity that holds the watch. */
export interface Attempt {
  end: WatchEnd | undefined;
  error: unknown;
  isOver: boolean;
  pulses: WatchPulse[];
  cancel(details?: Partial<ActivityCancellationDetails>): void;
}

type Answer = OrderReading | Error;

interface StageSettings extends Pick<WatchingPorts, 'pace'> {
  random?: number | (() => number);
  budget?: number;
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The service, the runs and Temporal, as one worker process sees them. A test takes `polls` alone, which list no orders, or the whole
 * watch of the account, by `attempt`.
 */
export class WatchStage {
  readonly service = new Map<string, Answer>();
  readonly runs = new Map<string, Run>();
  /** For an order without an own answer. */
  answer: Answer = readingOf('Routing');
  /** How long an answer takes. */
  answerMs = 0;
  asked: { orderId: string; at: number }[] = [];
  /** What the last poll of each order found. */
  readonly polled = new Map<string, OrderReading>();
  /** Orders whose run was asked what it shows. */
  shownAsks: string[] = [];
  /** Orders whose run was asked for all that it knows. */
  fullAsks: string[] = [];
  hints: { orderId: string; at: number; seen: SeenChange }[] = [];
  warnings: string[] = [];
  outcomes: string[] = [];
  mostInFlight = 0;
  /** How long Temporal takes to say what a run shows. */
  shownAfterMs = 0;
  mayAsk = true;
  /** A run ends between the question what it shows and the hint. */
  endsBeforeHint = false;
  /** Temporal does not answer. */
  isTemporalDown = false;
  isVisibilityDown = false;
  /** How long a list takes. */
  listMs = 0;
  /** So long after a hint the run reads; undefined: it is slow. */
  readAfterMs: number | undefined;
  /** A step of the wall clock. */
  wallAheadMs = 0;
  standing = { used: 0, isOnlyOne: true };
  isLeaving = false;
  lists: number[] = [];
  started: number[] = [];
  told: WatchTold[] = [];
  toldCounts: ChangeCounts[] = [];
  served: ('serving' | 'stopped')[] = [];
  readonly watching: Watching;
  readonly #settings: StageSettings;
  #polls: Polls | undefined;
  #inFlight = 0;

  constructor(settings: StageSettings = {}) {
    this.#settings = settings;
    this.watching = new Watching(this.#ports());
  }

  get polls(): Polls {
    if (this.#polls) return this.#polls;
    const { budget = account.requestsPerSecond } = this.#settings;
    const turns = createTurns(() => pollsPerSecond(budget, this.standing), 50, Date.now);
    const limited = { ...account, requestsPerSecond: budget };
    this.#polls = new Polls(limited, { ...this.#ports(), turns, mayAsk: () => this.mayAsk, onHint: () => undefined });
    void this.#polls.run();
    return this.#polls;
  }

  #ports(): WatchingPorts {
    const { random = 0, ...settings } = this.#settings;
    return {
      ...settings,
      account: () => account,
      readOrder: (_account, orderId) => this.#read(orderId),
      runs: this.#temporal(),
      usage: { perSecond: () => this.standing.used },
      serve: async () => {
        const index = this.served.push('serving') - 1;
        return { stop: async () => void this.served.fill('stopped', index, index + 1) };
      },
      worker: '7@host',
      isLeaving: () => this.isLeaving,
      events: { polled: (_name, outcome) => void this.outcomes.push(outcome) },
      warn: (message) => void this.warnings.push(message),
      now: () => Date.now() + this.wallAheadMs,
      monotonic: Date.now,
      random: () => (typeof random === 'number' ? random : random()),
    };
  }

  #temporal(): WatchingPorts['runs'] {
    const up = <T>(answer: () => T): Promise<T> =>
      this.isTemporalDown ? Promise.reject(new Error('unavailable')) : Promise.resolve(answer());
    return {
      readShown: async ({ orderId }) => {
        await up(() => this.shownAsks.push(orderId));
        const { isOpen, runId, status, attention, isAnnounced } = this.runs.get(orderId) ?? noRun;
        if (this.shownAfterMs > 0) await later(this.shownAfterMs);
        return { isOpen, runId, status, attention, isAnnounced };
      },
      readOrder: async ({ orderId }) => {
        this.fullAsks.push(orderId);
        const run = this.runs.get(orderId);
        return run?.isOpen && !this.isTemporalDown ? inputOf(orderId, run) : null;
      },
      changeSeen: ({ orderId }, seen) => up(() => this.#hint(orderId, seen)),
      list: async () => {
        this.lists.push(Date.now());
        if (this.listMs > 0) await later(this.listMs);
        if (this.isVisibilityDown) throw new Error('unavailable');
        return await up(() => this.#listed(this.open()));
      },
      start: () => up(() => void this.started.push(Date.now())),
      tell: (_name, told) => up(() => void this.told.push(told)),
      tellCounts: (_name, counts) => up(() => void this.toldCounts.push(counts)),
      processes: () => up(() => 1),
      ping: () => up(() => undefined),
    };
  }

  #hint(orderId: string, seen: SeenChange): boolean {
    if (!this.runs.get(orderId)?.isOpen || this.endsBeforeHint) return false;
    this.hints.push({ orderId, at: Date.now(), seen });
    if (seen.streak === null) this.onHint(orderId);
    if (this.readAfterMs !== undefined) setTimeout(() => this.readByRun(orderId), this.readAfterMs);
    return true;
  }

  async #read(orderId: string): Promise<OrderReading> {
    this.asked.push({ orderId, at: Date.now() });
    this.onPoll(orderId);
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    if (this.answerMs > 0) await later(this.answerMs);
    this.#inFlight -= 1;
    this.refuse();
    const answer = this.answerOf(orderId);
    if (answer instanceof Error) throw answer;
    this.polled.set(orderId, answer);
    return answer;
  }

  /** Sees each poll. */
  onPoll: (orderId: string) => void = () => undefined;
  /** Sees each hint about another answer. */
  onHint: (orderId: string) => void = () => undefined;

  /** Throws where a request is not even sent. */
  refuse = (): void => undefined;

  answerOf = (orderId: string): Answer => this.service.get(orderId) ?? this.answer;

  /** The run of an order reads it, as `readOrder` and the trail of the run do. */
  readByRun(orderId: string, isAnnounced = false): void {
    const run = this.runs.get(orderId);
    const reading = this.answerOf(orderId);
    if (!run?.isOpen || reading instanceof Error) return;
    run.attention = concernIn(reading, Date.now(), inputOf(orderId, run), account.watch)?.code ?? null;
    if (!isSameStatus(run.status, reading.rawStatus)) {
      Object.assign(run, { status: reading.rawStatus, since: Date.now(), isAnnounced });
      run.pushed = isAnnounced;
    }
    run.isOpen = !reading.terminal;
    const pickup = readInstant(reading.details?.scheduledAt) ?? run.scheduledAt;
    const isMoved = pickup !== run.scheduledAt;
    run.scheduledAt = pickup;
    if (isMoved && run.isOpen) this.polls.add(inputOf(orderId, run));
  }

  /** Runs begin to follow these orders. */
  begin(orderIds: string | readonly string[], more: Partial<Run> = {}): void {
    const at = Date.now();
    const times = { since: at, followedSince: at, scheduledAt: null };
    const { pushed = false } = more;
    const shown = { isOpen: true, runId: 'r', status: 'Routing', attention: null, isAnnounced: pushed };
    for (const orderId of [orderIds].flat()) this.runs.set(orderId, { ...shown, ...times, pushed, ...more });
  }

  /** They hand their orders over, to the polls alone. */
  handOver(orderIds: string | readonly string[], more: Partial<Run> = {}): void {
    this.begin(orderIds, more);
    for (const orderId of [orderIds].flat()) this.polls.add(inputOf(orderId, this.runs.get(orderId) ?? noRun));
  }

  /** One hands its order over to the watch, by its activity. */
  add(orderId: string, more?: Partial<Run>): Promise<void> {
    this.begin(orderId, more);
    return this.watching.activities.watchOrder(inputOf(orderId, this.runs.get(orderId) ?? noRun));
  }

  /** The run of this order ends, or is otherwise than it was. */
  change = (orderId: string, run: Partial<Run> = { isOpen: false }) => Object.assign(this.runs.get(orderId) ?? {}, run);

  /** Visibility lists these orders, by default all whose run is open. */
  adopt = (orderIds = this.open(), settledAt = Date.now() - 2 * minute): Promise<void> =>
    this.polls.adopt(this.#listed(orderIds), settledAt);

  #listed = (orderIds: readonly string[]): WatchOrderInput[] =>
    orderIds.map((orderId) => listedOf(orderId, this.runs.get(orderId) ?? noRun));

  open = (): string[] => [...this.runs].flatMap(([orderId, { isOpen }]) => (isOpen ? [orderId] : []));

  /** When the order was polled, in seconds since the beginning. */
  times = (orderId: string): number[] =>
    this.asked.filter((one) => one.orderId === orderId).map(({ at }) => (at - start) / second);

  /** Polls of all orders within this time. */
  async polledWithin(ms: number): Promise<{ orderId: string; at: number }[]> {
    const { length } = this.asked;
    await pass(ms);
    return this.asked.slice(length);
  }

  hintsOf = (orderId: string) => this.hints.filter((hint) => hint.orderId === orderId);

  /** Temporal hands one attempt of the activity to this process. `before`: the last heartbeat of the attempt before. */
  attempt(before?: WatchPulse): Attempt {
    const info = before === undefined ? {} : { attempt: 2, heartbeatDetails: before };
    const environment = new MockActivityEnvironment(info, { logger });
    const attempt: Attempt = {
      ...{ end: undefined, error: undefined, isOver: false, pulses: [] },
      cancel: (details = { timedOut: true }) =>
        environment.cancel('CANCELLED', new ActivityCancellationDetails(details)),
    };
    environment.on('heartbeat', (pulse: WatchPulse) => attempt.pulses.push(pulse));
    const ending = environment
      .run(() => this.watching.activities.watchOrders({ account: account.name }))
      .then(
        (end) => ({ end }),
        (error: unknown) => ({ error }),
      );
    void ending.then((how) => Object.assign(attempt, how, { isOver: true }));
    return attempt;
  }

  /** An attempt with one order, after a minute. */
  async attemptWithOrder(): Promise<Attempt> {
    const attempt = this.attempt();
    await pass(second);
    await this.add('1');
    await pass(minute - second);
    return attempt;
  }
}

const noRun: Run = {
  ...{ isOpen: false, runId: 'r', status: null, attention: null, isAnnounced: false, pushed: false },
  ...{ since: 0, followedSince: 0, scheduledAt: null },
};

export const inputOf = (orderId: string, run: Run): WatchOrderInput => ({
  ...{ account: account.name, orderId: toOrderId(orderId), rawStatus: run.status, attention: run.attention },
  ...{ since: iso(run.since), followedSince: iso(run.followedSince), scheduledAt: run.scheduledAt, pushed: run.pushed },
});

/** Visibility knows neither when a status began nor a pick-up time. */
const listedOf = (orderId: string, run: Run): WatchOrderInput => ({
  ...inputOf(orderId, run),
  ...{ since: iso(run.followedSince), scheduledAt: null, pushed: run.isAnnounced },
});

/** So many ids of orders. */
export const ids = (many: number, prefix = ''): string[] => Array.from({ length: many }, (_, id) => `${prefix}${id}`);

/** The most instants within any stretch of this length. */
export function mostWithin(ms: number, instants: readonly number[]): number {
  let most = 0;
  let from = 0;
  instants.forEach((at, to) => {
    while (at - (instants[from] ?? at) >= ms) from += 1;
    most = Math.max(most, to - from + 1);
  });
  return most;
}
