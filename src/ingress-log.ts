import type { Logger } from './observability/logging.js';
import type { IngressMetrics } from './observability/metrics.js';
import type { DeliveryFact, IngressObserver } from './webhooks/ingress-observer.js';
import { isRefused } from './webhooks/problems.js';

/** Header names come from outside. */
const maxPlaces = 100;
const tellEveryMs = 60_000;

/** What happens becomes metrics, and log lines without any value of a request. No sender can fill the log. */
export function createObserver(
  logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>,
  metrics: Pick<IngressMetrics, 'countDelivery' | 'countNewShape' | 'countSecretSeen'>,
): IngressObserver {
  const places = new Set<string>();
  const tellRefusal = createRefusalLog(logger);
  return {
    delivery(fact) {
      metrics.countDelivery(fact);
      tellRefusal(fact);
      const { account, eventType, outcome } = fact;
      if (outcome !== 'accepted') logger.debug({ account, eventType, outcome }, 'delivery not accepted as usual');
    },
    newShape(found) {
      metrics.countNewShape(found);
      if (found.shape !== null) logger.info(found, 'a delivery had a body of a new shape');
    },
    secretSeen({ account, eventType }, sighting) {
      metrics.countSecretSeen(account, sighting.place);
      const place = `${account}/${eventType}/${sighting.place}/${sighting.at}`;
      if (places.has(place) || places.size >= maxPlaces) return;
      places.add(place);
      logger.info({ account, eventType, ...sighting }, 'where the secret of a delivery was seen');
    },
    failure: (error) => logger.error({ err: error }, 'a request failed'),
  };
}

/** Logs refusals of each account, event type and outcome: at once, and then once a minute with the number since. */
function createRefusalLog(logger: Pick<Logger, 'warn'>): (fact: DeliveryFact) => void {
  const told = new Map<string, { at: number; count: number }>();
  return ({ account, eventType, outcome }) => {
    if (!isRefused(outcome)) return;
    const name = `${account}/${eventType}/${outcome}`;
    const last = told.get(name) ?? { at: Number.NEGATIVE_INFINITY, count: 0 };
    const count = last.count + 1;
    const isDue = Date.now() - last.at >= tellEveryMs;
    told.set(name, isDue ? { at: Date.now(), count: 0 } : { ...last, count });
    if (isDue) logger.warn({ account, eventType, outcome, count }, 'deliveries were not taken');
  };
}

/** Logs why deliveries could not be forwarded: as a warning once a minute, since groups fail again and again; all at `debug`. */
export function createFailureLog(logger: Pick<Logger, 'warn' | 'debug'>): (error: Error) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const level = Date.now() - toldAt >= tellEveryMs ? 'warn' : 'debug';
    if (level === 'warn') toldAt = Date.now();
    logger[level]({ err: error }, 'deliveries could not be forwarded; they are tried again');
  };
}
