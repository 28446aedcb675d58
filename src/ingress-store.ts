import type { IngressConfig } from './config.js';
import type { IngressMetrics } from './observability/ingress-metrics.js';
import type { Logger } from './observability/logging.js';
import { createForwarder, type ForwarderOptions } from './webhooks/forward/forwarder.js';
import { createDirectForwarding, type OnForwarded } from './webhooks/forward/routing.js';
import { type DeliveryFact, isRefused } from './webhooks/ingress-observer.js';
import type { DeliveryStore } from './webhooks/intake.js';
import { openJournal } from './webhooks/journal/journal.js';
import { openTally } from './webhooks/tally/file.js';

/** Where an ingress keeps deliveries, from the 2xx until Temporal has them. */
export interface IngressStore extends DeliveryStore {
  /** Keeps in the tally what was refused; with the journal off there is none. */
  noteAnswer(fact: DeliveryFact): void;
  /** Stops forwarding and waits for what is under way; what is not forwarded stays in the journal. */
  close(): Promise<void>;
}

/** What a store is made of. */
export interface IngressStoreParts {
  config: Pick<IngressConfig, 'journalDir' | 'journalMaxMb'>;
  routing: Pick<ForwarderOptions, 'port' | 'check' | 'roomForNew' | 'roomToPark'>;
  metrics: IngressMetrics;
  logger: Logger;
  /** Why Temporal cannot be asked; null when it can. Ends within seconds. */
  whyTemporalIsOut(): Promise<string | null>;
}

const forwardLimitMs = 10_000;

/** The journal and its forwarder; with the journal off, Temporal itself. Throws `JournalError`. */
export async function openIngressStore(parts: IngressStoreParts): Promise<IngressStore> {
  const { config, metrics } = parts;
  if (config.journalDir !== null) return await openJournalStore(config.journalDir, parts);
  const forward = createDirectForwarding({ ...parts.routing, onForwarded: metrics.countForwarded });
  return { accept: forward, noteAnswer: () => {}, whyNotReady: parts.whyTemporalIsOut, close: async () => {} };
}

async function openJournalStore(folder: string, parts: IngressStoreParts): Promise<IngressStore> {
  const { config, metrics, logger } = parts;
  const maxBytes = config.journalMaxMb * 1024 * 1024;
  const journal = await openJournal({ folder, maxBytes });
  const onFailure = (error: unknown) => logger.warn({ err: error }, 'the tally of deliveries was not kept');
  const tally = await openTally({ folder, onFailure }); // after the journal, which locks the folder
  const onForwarded: OnForwarded = (about, outcome, count) => {
    metrics.countForwarded(about, outcome, count);
    const { account, eventType, orderId } = about;
    if (outcome === 'late') tally.add({ account, eventType, outcome, orderId, count });
  };
  const routing = { ...parts.routing, onForwarded };
  metrics.showJournal({ ...journal, maxBytes });
  const tellFailure = createFailureLog(logger);
  const forwarder = createForwarder({
    ...routing,
    journal,
    onFailed(error) {
      metrics.countForwardFailure();
      tellFailure(error);
    },
    onOutage(isOut) {
      metrics.setOutage(isOut);
      if (isOut) logger.warn('Temporal takes no deliveries; they wait in the journal');
      else logger.info('Temporal takes deliveries again');
    },
  });
  forwarder.start();
  metrics.showHeld(forwarder.held);
  // Past the journal only a run that follows the order takes a delivery; others are refused.
  const forward = createDirectForwarding(routing);
  return {
    accept: (delivery) => (forwarder.hasRoomFor(delivery) ? journal.append(delivery) : forward(delivery)),
    noteAnswer({ account, eventType, outcome }) {
      if (isRefused(outcome)) tally.add({ account, eventType, outcome, count: 1 });
    },
    whyNotReady: () => journal.whyUnwritable(),
    async close() {
      await forwarder.stop(forwardLimitMs);
      await tally.close();
      await journal.close();
    },
  };
}

const tellEveryMs = 60_000;

/** Logs why deliveries could not be forwarded: as a warning once a minute, since groups fail again and again; all at `debug`. */
export function createFailureLog(logger: Pick<Logger, 'warn' | 'debug'>): (error: Error) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const level = Date.now() - toldAt >= tellEveryMs ? 'warn' : 'debug';
    if (level === 'warn') toldAt = Date.now();
    logger[level]({ err: error }, 'deliveries could not be forwarded; they are tried again');
  };
}

/** Logs which address is over its limit: at once, and then once a minute with the number since. */
export function createRefusalLog(logger: Pick<Logger, 'warn'>): (fact: DeliveryFact) => void {
  const told = new Map<string, { at: number; refused: number }>();
  return ({ account, eventType, outcome }) => {
    if (outcome !== 'tooMany') return;
    const name = `${account}/${eventType}`;
    const last = told.get(name) ?? { at: Number.NEGATIVE_INFINITY, refused: 0 };
    const refused = last.refused + 1;
    const isDue = Date.now() - last.at >= tellEveryMs;
    told.set(name, isDue ? { at: Date.now(), refused: 0 } : { ...last, refused });
    if (isDue) logger.warn({ account, eventType, refused }, 'deliveries are refused: their address sends too many');
  };
}
