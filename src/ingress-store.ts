import type { IngressConfig } from './config.js';
import { createFailureLog } from './ingress-log.js';
import type { IngressMetrics } from './observability/ingress-metrics.js';
import type { Logger } from './observability/logging.js';
import { createForwarder, type ForwarderOptions } from './webhooks/forward/forwarder.js';
import { createDirectForwarding } from './webhooks/forward/routing.js';
import type { DeliveryStore } from './webhooks/intake.js';
import { openJournal } from './webhooks/journal/journal.js';

/** Where an ingress keeps deliveries, from the 2xx until Temporal has them. */
export interface IngressStore extends DeliveryStore {
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
  return { accept: forward, whyNotReady: parts.whyTemporalIsOut, close: async () => {} };
}

async function openJournalStore(folder: string, parts: IngressStoreParts): Promise<IngressStore> {
  const { config, metrics, logger } = parts;
  const maxBytes = config.journalMaxMb * 1024 * 1024;
  const journal = await openJournal({ folder, maxBytes });
  const routing = { ...parts.routing, onForwarded: metrics.countForwarded };
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
    whyNotReady: () => journal.whyUnwritable(),
    async close() {
      await forwarder.stop(forwardLimitMs);
      await journal.close();
    },
  };
}
