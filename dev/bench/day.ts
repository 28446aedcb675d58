import { defaultCadence } from '../../src/config.js';
import { jitterShare, nextReadMs } from '../../src/domain/order/cadence.js';
import { budgetShare } from '../../src/domain/task-queues.js';
import { toListing } from './report.js';
import { fourHourRide } from './rides.js';

export interface DayOptions {
  orders: number;
  accounts: number;
  /** Of each account. */
  requestsPerSecond: number;
}

/** How the changes of the orders are found. */
const modes = {
  'only polls': { announced: false },
  announced: { announced: true },
} as const;
type Mode = keyof typeof modes;

/**
 * CPU time in ms of one step, measured on the machine of the pages about performance and costs; a quarter of a whole announced order for a
 * start or a change with its read.
 */
const costs = {
  task: { server: 19.9, worker: 10.3, ingress: 2.2 },
  poll: { server: 0.05, worker: 0.4, ingress: 0 },
} as const;
type Part = keyof typeof costs.task;

/** A second: over the day, and in its busiest minute. */
interface Rate {
  mean: number;
  peak: number;
}

/** What one simulated day needs. Times in seconds. */
export interface DayFigures {
  liveAtPeak: number;
  startsPerSecond: Rate;
  pollsPerSecond: Rate;
  /** Of the service's budget of all accounts, in the busiest minute. */
  budgetUsed: number;
  /** How long a poll that was due waited for the budget. */
  pollWait: { p50: number; p99: number };
  /** How late the end of an order was seen. */
  endLate: { p50: number; p99: number };
  /** Cores that are busy, in the mean and in the busiest minute. */
  cores: Record<Part, Rate>;
  /** What Temporal Cloud would count: see `actionsOfStatus`, and a heartbeat of each account's watch every 24 s. A poll is none. */
  cloudActions: number;
}

const daySeconds = 86_400;
const tailSeconds = 4 * 3_600;
/** Orders of an hour. */
const statuses = fourHourRide.map(([status, fromMs]) => ({ status, fromS: fromMs / 4_000 }));
const last = statuses.length - 1;
const lifeS = statuses[last]?.fromS ?? 0;
/** Starts follow the hours of the day: three times the mean at the peak. */
const peakTimesMean = 3;
const sharpness = 1.75; // so that the mean of the curve below is 1
const startRate = (second: number): number =>
  peakTimesMean * Math.exp(sharpness * (Math.cos((2 * Math.PI * second) / daySeconds - Math.PI) - 1));

/** A day under way. Instants are seconds of virtual time; arrays have a value for each order, or for each account. */
interface Day extends DayOptions {
  announced: boolean;
  random: () => number;
  /** What is to be done in a second: an order that starts or polls; `~order` for one of which a delivery comes. */
  due: number[][];
  startedAt: Float64Array;
  /** No poll before. */
  pollAt: Float64Array;
  /** When the account's queue hands out the poll that waits there; 0 if none does. */
  servedAt: Float64Array;
  sinceAt: Float64Array;
  /** The index of the status that the run knows; -1 before the start. */
  seen: Int8Array;
  /** When the account's queue hands out the next call. */
  queueFreeAt: Float64Array;
  /** Counts for each minute. */
  perMinute: Record<'starts' | 'tasks' | 'polls' | 'reads', number[]>;
  /** How often each time was seen, in tenths of a second. */
  pollWaits: number[];
  endsLate: number[];
  actions: number;
}

function openDay(options: DayOptions, mode: Mode): Day {
  const { orders, accounts } = options;
  const ofOrders = () => new Float64Array(orders);
  const day: Day = {
    ...options,
    ...modes[mode],
    random: seeded(1),
    due: Array.from({ length: daySeconds + tailSeconds }, () => []),
    ...{
      startedAt: ofOrders(),
      pollAt: ofOrders(),
      servedAt: ofOrders(),
      sinceAt: ofOrders(),
      seen: new Int8Array(orders).fill(-1),
    },
    queueFreeAt: new Float64Array(accounts),
    perMinute: { starts: minutes(), tasks: minutes(), polls: minutes(), reads: minutes() },
    ...{ pollWaits: [], endsLate: [], actions: (accounts * daySeconds) / heartbeatS },
  };
  let order = 0;
  for (let second = 0; second < daySeconds; second += 1) {
    const share = (orders / daySeconds) * startRate(second);
    const starts = Math.floor(share) + (day.random() < share % 1 ? 1 : 0);
    for (let n = 0; n < starts && order < orders; n += 1, order += 1) plan(day, order, second);
  }
  return day;
}

/**
 * Plays a day of orders second by second, in virtual time, with the pace of polls and the division of the budget that workers have, and adds
 * up what the steps cost by the measured figures. Deliveries take no time, and nothing fails.
 */
export function simulateDay(options: DayOptions, mode: Mode): DayFigures {
  const day = openDay(options, mode);
  for (let second = 0; second < day.due.length; second += 1)
    for (const entry of day.due[second] ?? []) {
      const order = entry < 0 ? ~entry : entry;
      const seen = day.seen[order] ?? 0;
      if (seen < 0) start(day, order, second);
      else if (entry < 0 && statusAt(day, order, second) > seen) change(day, order, second);
      else if (entry >= 0 && seen !== last) poll(day, order, second);
    }
  return sumUp(day);
}

function plan({ due }: Day, entry: number, at: number): void {
  due[Math.min(due.length - 1, Math.ceil(at))]?.push(entry);
}

function start(day: Day, order: number, second: number): void {
  day.startedAt[order] = second;
  add(day.perMinute.starts, second);
  day.actions += actionsOfStart;
  change(day, order, second);
  if (day.announced) for (const { fromS } of statuses.slice(1)) plan(day, ~order, second + fromS);
  plan(day, order, day.pollAt[order] ?? 0);
}

/** The run reads the order, ahead of polls, after its start, a delivery or a poll that found a change. */
function change(day: Day, order: number, second: number): void {
  add(day.perMinute.reads, queued(day, order % day.accounts, second));
  record(day, order, second);
  day.pollAt[order] = second + paceS(day, order, second);
}

function poll(day: Day, order: number, second: number): void {
  const pollAt = day.pollAt[order] ?? 0;
  const isServed = day.servedAt[order] !== 0;
  if (pollAt > second) {
    day.servedAt[order] = 0;
    plan(day, order, pollAt); // a read came between
    return;
  }
  if (!isServed) {
    const servedAt = queued(day, order % day.accounts, second);
    day.servedAt[order] = servedAt;
    tally(day.pollWaits, servedAt - second);
    if (servedAt > second) {
      plan(day, order, servedAt);
      return;
    }
  }
  day.servedAt[order] = 0;
  add(day.perMinute.polls, second);
  if (statusAt(day, order, second) > (day.seen[order] ?? 0)) change(day, order, second);
  else day.pollAt[order] = second + paceS(day, order, second);
  if (day.seen[order] === last) return;
  plan(day, order, day.pollAt[order] ?? 0);
}

/** The account's queue hands out a call at or after this second. */
function queued({ queueFreeAt, requestsPerSecond }: Day, account: number, second: number): number {
  const servedAt = Math.max(second, queueFreeAt[account] ?? 0);
  queueFreeAt[account] = servedAt + 1 / (budgetShare * requestsPerSecond);
  return servedAt;
}

function statusAt({ startedAt, seen }: Day, order: number, second: number): number {
  const ageS = second - (startedAt[order] ?? 0);
  let status = Math.max(0, seen[order] ?? 0);
  while (status < last && (statuses[status + 1]?.fromS ?? 0) <= ageS) status += 1;
  return status;
}

/** A signal or a start, a read, an upsert: what Temporal Cloud counts for a status. A start has three more: its own
 *  upsert, the timer, the hand-over to the watch. Counted by the bench `follow --only events`. */
const actionsOfStatus = 3;
const actionsOfStart = 3;
const heartbeatS = 24;

/** The run records the status that the service has now. */
function record(day: Day, order: number, second: number): void {
  const status = statusAt(day, order, second);
  day.seen[order] = status;
  day.sinceAt[order] = second;
  day.actions += actionsOfStatus;
  add(day.perMinute.tasks, second);
  if (status === last) tally(day.endsLate, second - (day.startedAt[order] ?? 0) - lifeS);
}

function paceS({ seen, sinceAt, announced, random }: Day, order: number, second: number): number {
  const known = seen[order] ?? 0;
  const times = { since: (sinceAt[order] ?? 0) * 1_000, scheduledAt: null, now: second * 1_000 };
  const status = statuses[known]?.status ?? null;
  const input = { ...times, status, pushed: announced && known > 0 };
  return (nextReadMs(input, defaultCadence) / 1_000) * (1 + random() * jitterShare);
}

function sumUp({ perMinute, pollWaits, endsLate, actions, ...day }: Day): DayFigures {
  const { tasks, polls } = perMinute;
  const coresOf = (part: Part) =>
    rateOf(tasks.map((all, minute) => (all * costs.task[part] + (polls[minute] ?? 0) * costs.poll[part]) / 1_000));
  const reads = perMinute.reads.map((n, minute) => n + (polls[minute] ?? 0));
  const startsPerSecond = rateOf(perMinute.starts);
  return {
    liveAtPeak: Math.round(startsPerSecond.peak * lifeS),
    startsPerSecond,
    pollsPerSecond: rateOf(polls),
    budgetUsed: rateOf(reads).peak / (day.accounts * day.requestsPerSecond),
    pollWait: quantiles(pollWaits),
    endLate: quantiles(endsLate),
    cores: { server: coresOf('server'), worker: coresOf('worker'), ingress: coresOf('ingress') },
    cloudActions: actions,
  };
}

/** A second, from counts of minutes. */
const rateOf = (counts: readonly number[]): Rate => ({
  mean: counts.reduce((sum, each) => sum + each, 0) / daySeconds,
  peak: Math.max(...counts) / 60,
});

const minutes = (): number[] => Array<number>((daySeconds + tailSeconds) / 60).fill(0);

function add(counts: number[], second: number): void {
  const minute = Math.min(counts.length - 1, Math.floor(second / 60));
  counts[minute] = (counts[minute] ?? 0) + 1;
}

function tally(counts: number[], seconds: number): void {
  const tenth = Math.round(seconds * 10);
  counts[tenth] = (counts[tenth] ?? 0) + 1;
}

function quantiles(counts: readonly (number | undefined)[]): { p50: number; p99: number } {
  const total = counts.reduce<number>((sum, count = 0) => sum + count, 0);
  const of = (share: number): number => {
    let below = 0;
    const tenth = counts.findIndex((count = 0) => {
      below += count;
      return below >= share * total;
    });
    return tenth / 10;
  };
  return { p50: of(0.5), p99: of(0.99) };
}

/** Mulberry32: the same day for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One table of the same day in each mode. */
export function toDayTable(options: DayOptions, figures: Readonly<Record<string, DayFigures>>): string {
  const columns = Object.keys(figures);
  const row = (name: string, of: (each: DayFigures) => number) => ({ name, values: Object.values(figures).map(of) });
  return toListing({
    name: `${options.orders} orders a day, ${options.accounts} accounts at ${options.requestsPerSecond}/s`,
    columns,
    rows: [
      row('starts per second, peak', ({ startsPerSecond }) => startsPerSecond.peak),
      row('live orders at the peak', ({ liveAtPeak }) => liveAtPeak),
      row('polls per second, mean', ({ pollsPerSecond }) => pollsPerSecond.mean),
      row('polls per second, peak', ({ pollsPerSecond }) => pollsPerSecond.peak),
      row('share of the budget, peak', ({ budgetUsed }) => budgetUsed),
      row('a poll waits for the budget, p50, s', ({ pollWait }) => pollWait.p50),
      row('a poll waits for the budget, p99, s', ({ pollWait }) => pollWait.p99),
      row('end seen late, p50, s', ({ endLate }) => endLate.p50),
      row('end seen late, p99, s', ({ endLate }) => endLate.p99),
      ...(['server', 'worker', 'ingress'] as const).flatMap((part) => [
        row(`cores of the ${part}, mean`, ({ cores }) => cores[part].mean),
        row(`cores of the ${part}, peak`, ({ cores }) => cores[part].peak),
      ]),
      row('Temporal Cloud actions, millions', ({ cloudActions }) => cloudActions / 1_000_000),
    ],
  });
}

export const dayModes = Object.keys(modes) as Mode[];
