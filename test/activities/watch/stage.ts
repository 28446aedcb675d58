import { type PollPorts, Polls } from '../../../src/activities/watch/polls.js';
import { createShare } from '../../../src/activities/watch/share.js';
import type { Shown } from '../../../src/activities/watch/watched-order.js';
import type { Account } from '../../../src/domain/account.js';
import { readInstant } from '../../../src/domain/instant.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { concernIn } from '../../../src/domain/order/concern.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import type { SeenChange, WatchOrderInput } from '../../../src/domain/watch.js';
import { partnerAccount } from '../../ride-api/accounts.js';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
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

type Answer = OrderReading | Error;

/** The service, the runs and Temporal, as far as the polls of one account see them. */
export class PollStage {
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
  canSayAll = true;
  /** A run ends between the question what it shows and the hint. */
  endsBeforeHint = false;
  /** Temporal does not answer. */
  isTemporalDown = false;
  /** So long after a hint the run reads; undefined: it is slow. */
  readAfterMs: number | undefined;
  standing = { used: 0, isOnlyOne: true };
  readonly polls: Polls;
  private inFlight = 0;

  constructor({ random = 0, budget = account.requestsPerSecond, ...more }: StageSettings = {}) {
    this.polls = new Polls(
      { ...account, requestsPerSecond: budget },
      {
        readOrder: async (_account, orderId) => await this.read(orderId),
        share: createShare(budget, () => this.standing, Date.now),
        runs: this.ports,
        mayAsk: () => this.mayAsk,
        events: { polled: (_name, outcome) => void this.outcomes.push(outcome) },
        warn: (message) => void this.warnings.push(message),
        now: Date.now,
        random: () => (typeof random === 'number' ? random : random()),
        ...more,
      },
    );
    void this.polls.run();
  }

  private readonly ports: PollPorts['runs'] = {
    readShown: async ({ orderId }) => {
      this.failIfDown();
      this.shownAsks.push(orderId);
      const { isOpen, runId, status, attention, isAnnounced } = this.runs.get(orderId) ?? noRun;
      if (this.shownAfterMs > 0) await new Promise((resolve) => setTimeout(resolve, this.shownAfterMs));
      return { isOpen, runId, status, attention, isAnnounced };
    },
    readOrder: async ({ orderId }) => {
      this.fullAsks.push(orderId);
      const run = this.runs.get(orderId);
      return run?.isOpen && this.canSayAll && !this.isTemporalDown ? inputOf(orderId, run) : null;
    },
    changeSeen: async ({ orderId }, seen) => {
      this.failIfDown();
      const run = this.runs.get(orderId);
      if (!run?.isOpen || this.endsBeforeHint) return false;
      this.hints.push({ orderId, at: Date.now(), seen });
      if (seen.struggle === null) this.onHint(orderId);
      if (this.readAfterMs !== undefined) setTimeout(() => this.readByRun(orderId), this.readAfterMs);
      return true;
    },
  };

  private failIfDown(): void {
    if (this.isTemporalDown) throw new Error('unavailable');
  }

  private async read(orderId: string): Promise<OrderReading> {
    this.asked.push({ orderId, at: Date.now() });
    this.onPoll(orderId);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    if (this.answerMs > 0) await new Promise((resolve) => setTimeout(resolve, this.answerMs));
    this.inFlight -= 1;
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

  /** A run begins to follow the order. */
  begin(orderId: string, more: Partial<Run> = {}): void {
    const at = Date.now();
    const times = { since: at, followedSince: at, scheduledAt: null };
    const { pushed = false } = more;
    const shown = { isOpen: true, runId: 'r', status: 'Routing', attention: null, isAnnounced: pushed };
    this.runs.set(orderId, { ...shown, ...times, pushed, ...more });
  }

  /** It hands its order over. */
  handOver(orderId: string, more: Partial<Run> = {}): void {
    this.begin(orderId, more);
    const run = this.runs.get(orderId);
    if (run) this.polls.add(inputOf(orderId, run));
  }

  /** Visibility lists these orders, by default all whose run is open. */
  async adopt(orderIds = this.open(), settledAt = Date.now() - 2 * minute): Promise<void> {
    const listed = orderIds.map((orderId) => listedOf(orderId, this.runs.get(orderId) ?? noRun));
    await this.polls.adopt(listed, settledAt);
  }

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

  end(): void {
    this.polls.stop();
  }
}

interface StageSettings extends Partial<Pick<PollPorts, 'longestWaitMs' | 'events'>> {
  random?: number | (() => number);
  budget?: number;
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
