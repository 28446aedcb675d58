import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { OnForwarded } from '../webhooks/forward/routing.js';
import type { DeliveryFact } from '../webhooks/ingress-observer.js';
import type { SecretPlace } from '../webhooks/secret-sighting.js';

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
  const deliveries = new Counter({
    name: 'faretrail_deliveries_total',
    help: 'Requests to delivery addresses by what became of them. Without account and event type: not an address of ours.',
    labelNames: ['account', 'event_type', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'faretrail_delivery_seconds',
    help: 'From the request line of a delivery to its answer.',
    buckets: deliverySeconds,
    registers,
  });
  const secretSeen = new Counter({
    name: 'faretrail_secret_seen_total',
    help: 'Deliveries that were looked into in mode path, by the place where their secret stood.',
    labelNames: ['account', 'place'],
    registers,
  });
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
  const registers = [registry];
  const forwarded = new Counter({
    name: 'faretrail_forwarded_total',
    help: 'Deliveries that Temporal has taken, by what became of them there.',
    labelNames: ['account', 'event_type', 'outcome'],
    registers,
  });
  const failures = new Counter({
    name: 'faretrail_forward_failures_total',
    help: 'Vain attempts to bring deliveries to Temporal. They are repeated.',
    registers,
  });
  const outage = new Gauge({
    name: 'faretrail_temporal_outage',
    help: '1 while Temporal takes no deliveries.',
    registers,
  });
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
