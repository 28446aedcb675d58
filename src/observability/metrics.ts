import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RunCounts } from '../temporal/visibility.js';
import { version } from '../version.js';

export interface UpstreamCallCount {
  account: string;
  operation: string;
  /** `ok` or the code of the failure, in camel case. */
  outcome: string;
  seconds: number;
}

/** What a worker counts. Labels hold names from closed lists only, since each id or unknown word would make a series. */
export interface WorkerMetrics {
  registry: Registry;
  countTokenRequest(request: { account: string; scope: string; outcome: string }): void;
  countUpstreamCall(call: UpstreamCallCount): void;
  /** Counts the polls of watches. `lateMs`: after the instant at which the pace of the order wanted the poll. */
  pollEvents: {
    polled(account: string, outcome: 'unchanged' | 'changed' | 'failed', lateMs: number): void;
    hinted(account: string): void;
  };
  /** Shows the watches that this worker holds, at each scrape. */
  showWatches(held: () => readonly HeldWatch[]): void;
  /** Shows how many runs the workflow cache of this worker may hold. */
  showCacheLimit(runs: number): void;
  /** Shows the runs of the whole fleet, which each scrape asks for. */
  showRuns(count: () => Promise<RunCounts | null>): void;
}

interface HeldWatch {
  account: { name: string };
  polls: { readonly size: number; readonly lateMs: number };
}

// The deadline of a call is 30 s at most. Operators look for 429 and slow answers.
const callSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Polls keep their pace to a second or so, unless the budget does not suffice or the service is away. */
const latenessSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

/** Buckets of a histogram that workflows record, by its name there: half a second after a delivery, minutes between slow polls. */
export const workflowBuckets = { faretrail_status_lag: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 120, 300, 900] };

/** Opens a registry for one worker or ingress, so that two in one process (tests) do not count together. */
export function openRegistry() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    ...{ name: 'faretrail_build_info', help: 'Always 1; its labels say which release this is.', registers: [registry] },
    labelNames: ['version'],
  }).set({ version }, 1);
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> =>
    new Counter({ name, help, labelNames, registers: [registry] });
  return { registry, counter };
}

/** Creates the metrics of a worker. */
export function createWorkerMetrics(): WorkerMetrics {
  const { registry, counter } = openRegistry();
  const tokenRequests = counter(
    'faretrail_token_requests_total',
    'Requests to token endpoints by their outcome: ok or the code of the failure.',
    ['account', 'scope', 'outcome'],
  );
  const upstreamCalls = counter(
    'faretrail_upstream_calls_total',
    'Calls to the ride service, token requests apart, by their outcome: ok or the code of the failure.',
    ['account', 'operation', 'outcome'],
  );
  const upstreamCallSeconds = new Histogram({
    name: 'faretrail_upstream_call_seconds',
    help: 'How long calls to the ride service took, whatever their outcome.',
    labelNames: ['operation'],
    buckets: callSeconds,
    registers: [registry],
  });
  const polls = counter('faretrail_polls_total', 'Polls of orders by what they found.', ['account', 'outcome']);
  const hints = counter('faretrail_hints_total', 'Polls after which a run had to read its order.', ['account']);
  const pollLateness = new Histogram({
    name: 'faretrail_poll_lateness_seconds',
    help: 'How late polls were against the pace of their orders.',
    buckets: latenessSeconds,
    registers: [registry],
  });
  const cacheLimit = new Gauge({
    name: 'faretrail_workflow_cache_limit',
    help: 'How many runs the workflow cache of this worker may hold now.',
    registers: [registry],
  });
  return {
    registry,
    showCacheLimit: (runs) => cacheLimit.set(runs),
    countTokenRequest: ({ account, scope, outcome }) =>
      tokenRequests.inc({ account, scope: scope || 'unscoped', outcome }),
    countUpstreamCall({ account, operation, outcome, seconds }) {
      upstreamCalls.inc({ account, operation, outcome });
      upstreamCallSeconds.observe({ operation }, seconds);
    },
    pollEvents: {
      polled(account, outcome, lateMs) {
        polls.inc({ account, outcome });
        pollLateness.observe(lateMs / 1_000);
      },
      hinted: (account) => hints.inc({ account }),
    },
    showWatches: (held) => addWatchGauges(held, registry),
    showRuns: (count) => addRunGauges(count, registry),
  };
}

/** The gauges have no value for an account whose watch another worker holds. */
function addWatchGauges(held: () => readonly HeldWatch[], registry: Registry): void {
  const add = (name: string, help: string, read: (watch: HeldWatch) => number): unknown =>
    new Gauge({
      ...{ name, help, labelNames: ['account'], registers: [registry] },
      collect() {
        this.reset();
        for (const watch of held()) this.set({ account: watch.account.name }, read(watch));
      },
    });
  add('faretrail_watched_orders', 'Live orders that this worker polls now.', ({ polls }) => polls.size);
  add(
    'faretrail_watch_lateness_seconds',
    'How late the most overdue order is now.',
    ({ polls }) => polls.lateMs / 1_000,
  );
}

/** The gauges have no value at a worker that does not count the runs, and while Temporal does not. */
function addRunGauges(count: () => Promise<RunCounts | null>, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'faretrail_followed_orders',
    help: 'Orders that the whole fleet follows now.',
    registers,
    async collect() {
      const counts = await count();
      if (counts) this.set(counts.followed);
      else this.remove();
    },
  });
  new Gauge({
    name: 'faretrail_attention_runs',
    help: 'Runs of the whole fleet that need a person now, by the code of their attention.',
    labelNames: ['code'],
    registers,
    async collect() {
      this.reset();
      for (const [code, runs] of Object.entries((await count())?.attention ?? {})) this.set({ code }, runs);
    },
  });
}
