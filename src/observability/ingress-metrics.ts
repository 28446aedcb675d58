import { type Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Forwarder } from '../webhooks/forward/forwarder.js';
import type { OnForwarded } from '../webhooks/forward/routing.js';
import type { Journal } from '../webhooks/journal/journal.js';
import type { DeliveryFact, DeliveryKind } from '../webhooks/observer.js';
import type { SecretPlace } from '../webhooks/verification.js';
import { openRegistry } from './metrics.js';

/** What each scrape reads of the journal. */
type JournalGauges = Pick<Journal, 'depth' | 'bytes' | 'oldestAt'> & { maxBytes: number };

/** What an ingress counts. Labels hold names from closed lists only. */
export type IngressMetrics = ReturnType<typeof createIngressMetrics>;

// A durable acknowledgement takes milliseconds; the goal for its slowest hundredth is 10 ms.
const deliverySeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/** Creates the metrics of an ingress. */
export function createIngressMetrics() {
  const opened = openRegistry();
  const { registry } = opened;
  return {
    registry,
    ...createDeliveryMetrics(opened),
    ...createForwardMetrics(opened),
    showWaiting: (waiting: Forwarder['waiting']) => addWaitingGauge(waiting, registry),
    showJournal: (journal: JournalGauges) => addJournalGauges(journal, registry),
  };
}

type OpenedRegistry = ReturnType<typeof openRegistry>;

function createDeliveryMetrics({ registry, counter }: OpenedRegistry) {
  const deliveries = counter(
    'faretrail_deliveries_total',
    'Requests to delivery addresses by their answer. Without account and event type: the address is not ours.',
    ['account', 'event_type', 'outcome'],
  );
  const seconds = new Histogram({
    name: 'faretrail_delivery_seconds',
    help: 'From the request line of a delivery to its answer.',
    buckets: deliverySeconds,
    registers: [registry],
  });
  const newShapes = counter(
    'faretrail_new_shapes_total',
    'Deliveries whose body had a shape that this process had not seen, by their answer.',
    ['account', 'event_type', 'outcome'],
  );
  const secretSeen = counter(
    'faretrail_secret_seen_total',
    'Deliveries of mode path that the ingress searched for their secret, by the place where it stood.',
    ['account', 'place'],
  );
  // Looking up the labels would be a noticeable part of the cost of each request.
  const bound = new Map<string, Counter.Internal>();
  return {
    countDelivery({ account, eventType, outcome, seconds: taken }: DeliveryFact): void {
      const name = `${account}/${eventType}/${outcome}`;
      const delivery = bound.get(name) ?? deliveries.labels(account, eventType, outcome);
      bound.set(name, delivery);
      delivery.inc();
      seconds.observe(taken);
    },
    countNewShape: ({ account, eventType, outcome }: DeliveryKind): void =>
      newShapes.inc({ account, event_type: eventType, outcome }),
    countSecretSeen: (account: string, place: SecretPlace): void => secretSeen.inc({ account, place }),
  };
}

function createForwardMetrics({ registry, counter }: OpenedRegistry) {
  const forwarded = counter('faretrail_forwarded_total', 'Deliveries that Temporal has taken, by their result.', [
    'account',
    'event_type',
    'outcome',
  ]);
  const failures = counter('faretrail_forward_failures_total', 'Failed forwarding attempts (retried).');
  const name = 'faretrail_temporal_outage';
  const outage = new Gauge({ name, help: '1 while Temporal takes no deliveries.', registers: [registry] });
  const countForwarded: OnForwarded = ({ account, eventType }, outcome, count) =>
    forwarded.inc({ account, event_type: eventType, outcome }, count);
  return {
    countForwarded,
    countForwardFailure: () => failures.inc(),
    setOutage: (isOut: boolean) => outage.set(isOut ? 1 : 0),
  };
}

function addWaitingGauge(waiting: Forwarder['waiting'], registry: Registry): void {
  const name = 'faretrail_held_deliveries';
  const help =
    'Deliveries that wait in the journal until their order or report may start, or until they may be parked.';
  new Gauge({
    ...{ name, help, labelNames: ['account', 'reason'], registers: [registry] },
    collect() {
      this.reset();
      for (const { account, reason, deliveries } of waiting()) this.set({ account, reason }, deliveries);
    },
  });
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
