import { type Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { OnForwarded } from '../webhooks/forward/routing.js';
import type { DeliveryFact } from '../webhooks/ingress-observer.js';
import type { SecretPlace } from '../webhooks/secret-sighting.js';
import { countersIn } from './metrics.js';

/** What the gauges of the journal show when they are asked. */
export interface JournalGauges {
  depth(): number;
  bytes(): number;
  maxBytes: number;
  /** Milliseconds since the epoch; null while empty. */
  oldestAt(): number | null;
}

/** What an ingress counts. Labels hold names from closed lists only. */
export interface IngressMetrics {
  registry: Registry;
  countDelivery(fact: DeliveryFact): void;
  countSecretSeen(account: string, place: SecretPlace): void;
  countForwarded: OnForwarded;
  countForwardFailure(): void;
  setOutage(isOut: boolean): void;
  showJournal(journal: JournalGauges): void;
}

// A durable acknowledgement takes milliseconds; the goal for its slowest hundredth is 10 ms.
const deliverySeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/** A registry of its own, so that two in one process (tests) do not count together. */
export function createIngressMetrics(): IngressMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { countDelivery, countSecretSeen } = createDeliveryMetrics(registry);
  const { countForwarded, countForwardFailure, setOutage } = createForwardMetrics(registry);
  return {
    registry,
    ...{ countDelivery, countSecretSeen, countForwarded, countForwardFailure, setOutage },
    showJournal: (journal) => addJournalGauges(journal, registry),
  };
}

function createDeliveryMetrics(registry: Registry): Pick<IngressMetrics, 'countDelivery' | 'countSecretSeen'> {
  const registers = [registry];
  const counter = countersIn(registry);
  const deliveries = counter(
    'faretrail_deliveries_total',
    'Requests to delivery addresses by their answer. Without account and event type: not an address of ours.',
    ['account', 'event_type', 'outcome'],
  );
  const seconds = new Histogram({
    name: 'faretrail_delivery_seconds',
    help: 'From the request line of a delivery to its answer.',
    buckets: deliverySeconds,
    registers,
  });
  const secretSeen = counter(
    'faretrail_secret_seen_total',
    'Deliveries of mode path that the ingress searched for their secret, by the place where it stood.',
    ['account', 'place'],
  );
  // Looked up by name for each request they would be a noticeable part of its cost.
  const bound = new Map<string, Counter.Internal>();
  return {
    countDelivery({ account, eventType, outcome, seconds: taken }) {
      const name = `${account}/${eventType}/${outcome}`;
      const counter = bound.get(name) ?? deliveries.labels(account, eventType, outcome);
      bound.set(name, counter);
      counter.inc();
      seconds.observe(taken);
    },
    countSecretSeen: (account, place) => secretSeen.inc({ account, place }),
  };
}

function createForwardMetrics(registry: Registry) {
  const counter = countersIn(registry);
  const forwarded = counter(
    'faretrail_forwarded_total',
    'Deliveries that Temporal has taken, by what became of them.',
    ['account', 'event_type', 'outcome'],
  );
  const failures = counter('faretrail_forward_failures_total', 'Failed forwarding attempts (retried).');
  const name = 'faretrail_temporal_outage';
  const outage = new Gauge({ name, help: '1 while Temporal takes no deliveries.', registers: [registry] });
  const countForwarded: IngressMetrics['countForwarded'] = ({ account, eventType }, outcome, count) =>
    forwarded.inc({ account, event_type: eventType, outcome }, count);
  return {
    countForwarded,
    countForwardFailure: () => failures.inc(),
    setOutage: (isOut: boolean) => outage.set(isOut ? 1 : 0),
  };
}

function addJournalGauges({ depth, bytes, maxBytes, oldestAt }: JournalGauges, registry: Registry): void {
  const registers = [registry];
  const add = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(value());
      },
    });
  add('faretrail_journal_deliveries', 'Acknowledged deliveries that wait in the journal.', depth);
  add('faretrail_journal_bytes', 'Size of the journal, of pages in use.', bytes);
  add('faretrail_journal_max_bytes', 'What the journal may hold.', () => maxBytes);
  add('faretrail_journal_oldest_age_seconds', 'Age of the oldest delivery in the journal; 0 while it is empty.', () => {
    const oldest = oldestAt();
    return oldest === null ? 0 : Math.max(0, Date.now() - oldest) / 1_000;
  });
}
