import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ageMs } from '../clock.js';
import type { RunCounts } from '../temporal/visibility.js';
import { version } from '../version.js';
import type { Forwarder } from '../webhooks/forward/forwarder.js';
import type { OnForwarded } from '../webhooks/forward/routing.js';
import type { Journal } from '../webhooks/journal/journal.js';
import type { DeliveryFact, DeliveryKind } from '../webhooks/observer.js';

// Labels hold names from closed lists only, since each id or unknown word would make a series.

/** One value of a gauge. */
type Sample = readonly [value: number, labels?: Record<string, string>];

/** Opens a registry for one worker or ingress, so that two in one process (tests) do not count together. */
function openRegistry() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], labelNames: Label[] = []) =>
    new Histogram({ name, help, buckets, labelNames, registers });
  /** Each scrape reads the values; without any the gauge is not there. */
  const gauge = (
    name: string,
    help: string,
    read: () => readonly Sample[] | Promise<readonly Sample[]>,
    labelNames: string[] = [],
  ): void => {
    new Gauge({
      ...{ name, help, labelNames, registers },
      async collect() {
        const samples = await read();
        this.reset();
        if (labelNames.length === 0) this.remove(); // `reset` sets it to 0
        for (const [value, labels = {}] of samples) this.set(labels, value);
      },
    });
  };
  const aboutBuild = 'Always 1; its labels say which release this is.';
  gauge('faretrail_build_info', aboutBuild, () => [[1, { version }]], ['version']);
  return { registry, counter, histogram, gauge };
}

// The deadline of a call is 30 s at most. Operators look for 429 and slow answers.
const callSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Polls keep their pace to a second or so, unless the budget does not suffice or the service is away. */
const latenessSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

/** Buckets of a histogram that workflows record, by its name there: half a second after a delivery, minutes between slow polls. */
export const workflowBuckets = { faretrail_status_lag: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 120, 300, 900] };

interface HeldWatch {
  account: { name: string };
  polls: { readonly size: number; readonly lateMs: number };
}

/** What a worker counts. */
export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>;

/** Creates the metrics of a worker. */
export function createWorkerMetrics() {
  const { registry, counter, histogram, gauge } = openRegistry();
  const tokenRequests = counter(
    'faretrail_token_requests_total',
    'Requests to token endpoints by their outcome: ok or the code of the failure.',
    ['account', 'scope', 'outcome'],
  );
  const calls = counter(
    'faretrail_upstream_calls_total',
    'Calls to the ride service, token requests apart, by their outcome: ok or the code of the failure.',
    ['account', 'operation', 'outcome'],
  );
  const duration = histogram(
    'faretrail_upstream_call_seconds',
    'How long calls to the ride service took, whatever their outcome.',
    callSeconds,
    ['operation'],
  );
  const polls = counter('faretrail_polls_total', 'Polls of orders by what they found.', ['account', 'outcome']);
  const lateness = histogram(
    'faretrail_poll_lateness_seconds',
    'How late polls were against the pace of their orders.',
    latenessSeconds,
  );
  return {
    registry,
    countTokenRequest: ({ account, scope, outcome }: Record<'account' | 'scope' | 'outcome', string>): void =>
      tokenRequests.inc({ account, scope: scope || 'unscoped', outcome }),
    countUpstreamCall(call: Record<'account' | 'operation' | 'outcome', string>, seconds: number): void {
      calls.inc(call);
      duration.observe({ operation: call.operation }, seconds);
    },
    /** Counts the polls of watches. `lateMs`: after the instant at which the pace of the order wanted the poll. */
    pollEvents: {
      polled(account: string, outcome: 'unchanged' | 'changed' | 'failed', lateMs: number): void {
        polls.inc({ account, outcome });
        lateness.observe(lateMs / 1_000);
      },
    },
    /** Shows the watches that this worker holds. There is no value for an account whose watch another worker holds. */
    showWatches(held: () => readonly HeldWatch[]): void {
      const each = (read: (watch: HeldWatch['polls']) => number) => () =>
        held().map(({ account, polls: of }) => [read(of), { account: account.name }] as const);
      const labels = ['account'];
      gauge(
        'faretrail_watched_orders',
        'Live orders that this worker polls now.',
        each(({ size }) => size),
        labels,
      );
      const late = each(({ lateMs }) => lateMs / 1_000);
      gauge('faretrail_watch_lateness_seconds', 'How late the most overdue order is now.', late, labels);
    },
    /** Shows how many runs the workflow cache of this worker may hold. */
    showCacheLimit: (runs: number): void =>
      gauge('faretrail_workflow_cache_limit', 'How many runs the workflow cache of this worker may hold now.', () => [
        [runs],
      ]),
    /** Shows the runs of the whole fleet, which each scrape asks for. There is no value while Temporal does not count them. */
    showRuns(count: () => Promise<RunCounts | null>): void {
      gauge('faretrail_followed_orders', 'Orders that the whole fleet follows now.', async () => {
        const counts = await count();
        return counts ? [[counts.followed]] : [];
      });
      gauge(
        'faretrail_attention_runs',
        'Runs of the whole fleet that need a person now, by the code of their attention.',
        async () => Object.entries((await count())?.attention ?? {}).map(([code, runs]) => [runs, { code }] as const),
        ['code'],
      );
    },
  };
}

// A durable acknowledgement takes milliseconds; the goal for its slowest hundredth is 10 ms.
const deliverySeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/** What each scrape reads of the journal. */
type JournalGauges = Pick<Journal, 'depth' | 'bytes' | 'oldestAt'> & { maxBytes: number };

/** What an ingress counts. */
export type IngressMetrics = ReturnType<typeof createIngressMetrics>;

/** Creates the metrics of an ingress. */
export function createIngressMetrics() {
  const { registry, counter, histogram, gauge } = openRegistry();
  const kind: ('account' | 'event_type' | 'outcome')[] = ['account', 'event_type', 'outcome'];
  const deliveries = counter(
    'faretrail_deliveries_total',
    'Requests to delivery addresses by their answer. Without account and event type: the address is not ours.',
    kind,
  );
  const seconds = histogram(
    'faretrail_delivery_seconds',
    'From the request line of a delivery to its answer.',
    deliverySeconds,
  );
  const newShapes = counter(
    'faretrail_new_shapes_total',
    'Deliveries whose body had a shape that this process had not seen, by their answer.',
    kind,
  );
  const forwarded = counter('faretrail_forwarded_total', 'Deliveries that Temporal has taken, by their result.', kind);
  const failures = counter('faretrail_forward_failures_total', 'Failed forwarding attempts (retried).');
  let isOut = false;
  gauge('faretrail_temporal_outage', '1 while Temporal takes no deliveries.', () => [[isOut ? 1 : 0]]);
  // Looking up the labels would be a noticeable part of the cost of each request.
  const bound = new Map<string, Counter.Internal>();
  return {
    registry,
    countDelivery({ account, eventType, outcome, seconds: taken }: DeliveryFact): void {
      const name = `${account}/${eventType}/${outcome}`;
      const delivery = bound.get(name) ?? deliveries.labels(account, eventType, outcome);
      bound.set(name, delivery);
      delivery.inc();
      seconds.observe(taken);
    },
    countNewShape: ({ account, eventType, outcome }: DeliveryKind): void =>
      newShapes.inc({ account, event_type: eventType, outcome }),
    countForwarded: (({ account, eventType }, outcome, count) =>
      forwarded.inc({ account, event_type: eventType, outcome }, count)) satisfies OnForwarded,
    countForwardFailure: (): void => failures.inc(),
    setOutage(now: boolean): void {
      isOut = now;
    },
    showWaiting: (waiting: Forwarder['waiting']): void =>
      gauge(
        'faretrail_held_deliveries',
        'Deliveries that wait in the journal until their order or report may start, or until they may be parked.',
        () => waiting().map(({ account, reason, deliveries: count }) => [count, { account, reason }] as const),
        ['account', 'reason'],
      ),
    showJournal({ depth, bytes, maxBytes, oldestAt }: JournalGauges): void {
      const oldestMs = (): number => ageMs(oldestAt() ?? Number.POSITIVE_INFINITY);
      gauge('faretrail_journal_deliveries', 'Acknowledged deliveries that wait in the journal.', () => [[depth()]]);
      gauge('faretrail_journal_bytes', 'Size of the journal, of pages in use.', () => [[bytes()]]);
      gauge('faretrail_journal_max_bytes', 'What the journal may hold.', () => [[maxBytes]]);
      gauge(
        'faretrail_journal_oldest_age_seconds',
        'Age of the oldest delivery in the journal; 0 while it is empty.',
        () => [[oldestMs() / 1_000]],
      );
    },
  };
}
