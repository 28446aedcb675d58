import { CompleteAsyncError, type Info } from '@temporalio/activity';
import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { Polls } from '../../../src/activities/watch/polls.js';
import { createTurns } from '../../../src/activities/watch/rates.js';
import { Watching, type WatchingPorts } from '../../../src/activities/watch/watching.js';
import type { AccountName } from '../../../src/domain/keys.js';
import { concernIn } from '../../../src/domain/order/concern.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import type { ChangeCounts } from '../../../src/domain/subscription/state.js';
import {
  type ListedOrder,
  type NextFinding,
  pollsPerSecond,
  readNextFinding,
  type SeenChange,
  type WatchEnd,
  type WatchOrderInput,
  type WatchPulse,
  type WatchTold,
} from '../../../src/domain/watch.js';
import { readingOf } from '../attempts.js';
import { logger, minute, second, start } from '../temporal.js';
import { account, inputOf, isOutdated, listedOf, noRun, type Run, show } from './runs.js';
import { pass } from './time.js';

export const ended = (rawStatus = 'Completed'): OrderReading => ({ ...readingOf(rawStatus), terminal: true });

/** One attempt of the activity that holds the watch. */
export interface Attempt {
  end: WatchEnd | undefined;
  error: unknown;
  isOver: boolean;
  pulses: WatchPulse[];
  cancel(details?: Partial<ActivityCancellationDetails>): void;
}

type Answer = OrderReading | Error;

interface StageSettings extends Pick<WatchingPorts, 'pace' | 'stores'> {
  random?: number | (() => number);
  budget?: number;
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The service, the runs and Temporal, as one worker process sees them. A test takes `polls` alone, which list no orders, or the whole
 * watch of the account, by `attempt`.
 */
export class WatchStage {
  service = new Map<string, Answer>();
  runs = new Map<string, Run>();
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
  /** What runs were told by their pending reads. */
  findings: { orderId: string; at: number; found: NextFinding }[] = [];
  /** Those to runs of release 0.2.0, which have no pending read. */
  hints: { orderId: string; at: number; seen: SeenChange }[] = [];
  warnings: string[] = [];
  outcomes: string[] = [];
  mostInFlight = 0;
  /** How long Temporal takes to say what a run shows. */
  shownAfterMs = 0;
  mayAsk = true;
  /** A run ends between the question what it shows and the hint. */
  endsBeforeHint = false;
  /** What runs do when they are told something, right before. */
  beforeFinding: (orderId: string) => void = () => undefined;
  /** Temporal does not answer. */
  isTemporalDown = false;
  /** Visibility fails after so many orders of a list. */
  listsUntil = Infinity;
  pageSize = 1_000;
  /** How long a list takes. */
  listMs = 0;
  /** A step of the wall clock. */
  wallAheadMs = 0;
  standing = { used: 0, isOnlyOne: true };
  isLeaving = false;
  /** How many processes make calls of the accounts. */
  processes = 1;
  /** How many watches each process should have. */
  fairShare = 1;
  isSucceeded = false;
  lists: number[] = [];
  started: number[] = [];
  told: WatchTold[] = [];
  toldCounts: ChangeCounts[] = [];
  served: ('serving' | 'stopped')[] = [];
  readonly watching: Watching;
  readonly #settings: StageSettings;
  #polls: Polls | undefined;
  #inFlight = 0;
  #readAfterMs: number | undefined;
  /** What slow runs have yet to do. */
  #undone: (() => void)[] = [];
  /** The process that has taken the watch from this one. */
  #successor: WatchStage | undefined;

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

  /** So long after it was told something a run acts; undefined: it is slow. */
  get readAfterMs(): number | undefined {
    return this.#readAfterMs;
  }

  set readAfterMs(ms: number | undefined) {
    this.#readAfterMs = ms;
    if (ms !== undefined) for (const act of this.#undone.splice(0)) setTimeout(act, ms);
  }

  #soon(act: () => void): void {
    if (this.readAfterMs === undefined) this.#undone.push(act);
    else setTimeout(act, this.readAfterMs);
  }

  /** This process takes the watch from another one, with the same service, runs and Temporal. */
  succeed(before: WatchStage): void {
    const { service, runs, isTemporalDown, mayAsk, readAfterMs } = before;
    this.#undone = before.#undone;
    Object.assign(this, { service, runs, isTemporalDown, mayAsk, readAfterMs });
    before.#successor = this;
  }

  #last(): WatchStage {
    return this.#successor ? this.#successor.#last() : this;
  }

  #ports(): WatchingPorts {
    const { random = 0, ...settings } = this.#settings;
    return {
      ...settings,
      account: (name) => ({ ...account, name }),
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
        const run = this.runs.get(orderId);
        const shown = run && { ...listedOf(orderId, run), isOpen: run.isOpen, isPending: run.isOpen && run.isPending };
        if (this.shownAfterMs > 0) await later(this.shownAfterMs);
        return shown ?? null;
      },
      complete: ({ orderId }, found) => up(() => this.#complete(orderId, found)),
      readOrder: async ({ orderId }) => {
        this.fullAsks.push(orderId);
        const run = this.runs.get(orderId);
        return run?.isOpen && !this.isTemporalDown ? inputOf(orderId, run) : null;
      },
      changeSeen: ({ orderId }, seen) => up(() => this.#hint(orderId, seen)),
      list: () => this.#list(),
      start: () => up(() => void this.started.push(Date.now())),
      tell: (_name, told) => up(() => void this.told.push(told)),
      tellCounts: (_name, counts) => up(() => void this.toldCounts.push(counts)),
      processes: () => up(() => this.processes),
      isSucceeded: () => up(() => this.isSucceeded),
      fairShare: () => up(() => this.fairShare),
      ping: () => up(() => undefined),
    };
  }

  async *#list(): AsyncGenerator<ListedOrder[]> {
    this.lists.push(Date.now());
    if (this.listMs > 0) await later(this.listMs);
    const orders = this.#listed(this.open());
    for (let from = 0; from <= orders.length; from += this.pageSize) {
      if (this.isTemporalDown || from >= this.listsUntil) throw new Error('unavailable');
      yield orders.slice(from, from + this.pageSize);
    }
  }

  #complete(orderId: string, told: NextFinding): boolean {
    this.beforeFinding(orderId);
    const run = this.runs.get(orderId);
    if (!run?.isOpen || !run.isPending) return false;
    const found = readNextFinding(JSON.parse(JSON.stringify(told)));
    if (found === null) throw new Error('the run cannot read what it is told');
    this.findings.push({ orderId, at: Date.now(), found: told });
    if (found.kind === 'reading') this.onTold(orderId);
    run.isPending = false;
    this.#soon(() => this.#record(orderId, run, found));
    return true;
  }

  /** As `nextReading` in the run does it. */
  #record(orderId: string, run: Run, found: NextFinding): void {
    if (!run.isOpen || this.runs.get(orderId) !== run) return;
    if (isOutdated(run, found)) this.readByRun(orderId);
    else if (found.kind === 'trouble') run.attention = found.attention.code;
    else show(run, found.reading, Date.parse(found.at));
    if (run.isOpen) this.#handOverAnew(orderId, run);
  }

  /** To the process that has the watch by now. */
  #handOverAnew(orderId: string, run: Run): void {
    const stage = this.#last();
    Object.assign(run, { isPending: true, handedAt: Date.now() });
    const order = inputOf(orderId, run);
    if (stage.watching.held().length > 0) void stage.#pend(order).catch(() => undefined);
    else stage.polls.add(order);
  }

  #hint(orderId: string, seen: SeenChange): boolean {
    if (!this.runs.get(orderId)?.isOpen || this.endsBeforeHint) return false;
    this.hints.push({ orderId, at: Date.now(), seen });
    if (seen.streak === null) this.onTold(orderId);
    this.#soon(() => this.readByRun(orderId));
    return true;
  }

  async #read(orderId: string): Promise<OrderReading> {
    this.asked.push({ orderId, at: Date.now() });
    this.onPoll(orderId);
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    if (this.answerMs > 0) await later(this.answerMs);
    this.#inFlight -= 1;
    this.refuse(orderId);
    const answer = this.answerOf(orderId);
    if (answer instanceof Error) throw answer;
    this.polled.set(orderId, answer);
    return answer;
  }

  /** Sees each poll. */
  onPoll: (orderId: string) => void = () => undefined;
  /** Sees each finding and each hint about another answer. */
  onTold: (orderId: string) => void = () => undefined;

  /** Throws where a request is not even sent. */
  refuse: (orderId: string) => void = () => undefined;

  answerOf = (orderId: string): Answer => this.service.get(orderId) ?? this.answer;

  /** The run of an order reads it, as `readOrder` and the trail of the run do. */
  readByRun(orderId: string, isAnnounced = false): void {
    const run = this.runs.get(orderId);
    const reading = this.answerOf(orderId);
    if (!run?.isOpen || reading instanceof Error) return;
    const pickup = run.scheduledAt;
    const concern = concernIn(reading, Date.now(), inputOf(orderId, run), account.watch);
    show(run, { ...reading, concern }, Date.now(), isAnnounced);
    run.readAt = Date.now();
    // A run of release 0.2.0 tells the watch at once.
    if (pickup !== run.scheduledAt && run.isOpen && !run.isPending) this.polls.add(inputOf(orderId, run));
  }

  /** Runs begin to follow these orders. */
  begin(orderIds: string | readonly string[], more: Partial<Run> = {}): void {
    const at = Date.now();
    const times = { since: at, followedSince: at, scheduledAt: null, readAt: 0 };
    const { pushed = false, isEarlier = false } = more;
    const shown = { isOpen: true, isPending: !isEarlier, isEarlier, status: 'Routing', attention: null };
    for (const orderId of [orderIds].flat()) {
      const run = { ...shown, ...times, pushed, ...more };
      this.runs.set(orderId, { ...run, handedAt: Date.now() });
    }
  }

  /** They hand their orders over, to the polls alone. */
  handOver(orderIds: string | readonly string[], more: Partial<Run> = {}): void {
    this.begin(orderIds, more);
    for (const orderId of [orderIds].flat()) this.polls.add(inputOf(orderId, this.runs.get(orderId) ?? noRun));
  }

  /** One hands its order over to the watch, by its activity. */
  add(orderId: string, more?: Partial<Run>): Promise<void> {
    this.begin(orderId, more);
    return this.#pend(inputOf(orderId, this.runs.get(orderId) ?? noRun));
  }

  async #pend(order: WatchOrderInput): Promise<void> {
    await this.watching.activities.nextReading(order).catch((error: unknown) => {
      if (!(error instanceof CompleteAsyncError)) throw error;
    });
  }

  /** The run of this order ends, or is otherwise than it was. */
  change = (orderId: string, run: Partial<Run> = { isOpen: false }) => Object.assign(this.runs.get(orderId) ?? {}, run);

  /** Visibility lists these orders, by default all whose run is open. */
  async adopt(orderIds = this.open(), settledAt = Date.now() - 2 * minute): Promise<void> {
    const listed = this.#listed(orderIds);
    this.polls.adopt(listed, new Map());
    await this.polls.dropOthers(new Set(listed.map(({ orderId }) => orderId)), settledAt);
  }

  #listed = (orderIds: readonly string[]): ListedOrder[] =>
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

  findingsOf = (orderId: string) => this.findings.filter((finding) => finding.orderId === orderId);

  /**
   * Temporal hands one attempt of the activity to this process. `before`: the last heartbeat of the attempt before.
   * `renewedAs`: see `WatchOrdersInput`.
   */
  attempt(
    before?: WatchPulse,
    { renewedAs, name = account.name, ...more }: { renewedAs?: string; name?: AccountName } & Partial<Info> = {},
  ): Attempt {
    const info = before === undefined ? more : { attempt: 2, heartbeatDetails: before };
    const environment = new MockActivityEnvironment(info, { logger });
    const attempt: Attempt = {
      ...{ end: undefined, error: undefined, isOver: false, pulses: [] },
      cancel: (details = { timedOut: true }) =>
        environment.cancel('CANCELLED', new ActivityCancellationDetails(details)),
    };
    environment.on('heartbeat', (pulse: WatchPulse) => attempt.pulses.push(pulse));
    const input = renewedAs === undefined ? { account: name } : { account: name, renewedAs };
    const ending = environment
      .run(() => this.watching.activities.watchOrders(input))
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
