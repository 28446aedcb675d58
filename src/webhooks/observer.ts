import { hash } from 'node:crypto';
import { type MonotonicClock, monotonicMs } from '../clock.js';
import { bodyShape, shapeLines } from '../contracts/body-shape.js';
import { readIncomingJson } from '../contracts/json.js';
import { shares } from '../domain/shares.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import { type IntakeOutcome, isRefused } from './problems.js';

/** The account and event type of a request, both empty unless its address is ours, and its answer. */
export interface DeliveryKind {
  account: string;
  eventType: string;
  outcome: IntakeOutcome;
}

/** What metrics and logs may show of one request to a delivery address. */
export interface DeliveryFact extends DeliveryKind {
  /** From the request line to the answer. */
  seconds: number;
}

interface ObserverPorts {
  logger: Record<'debug' | 'info' | 'warn' | 'error', (fields: object, text: string) => void>;
  metrics: {
    countDelivery(fact: DeliveryFact): void;
    countNewShape(kind: DeliveryKind): void;
  };
  monotonic?: MonotonicClock;
}

/** Receives what happens in the ingress. No call throws. */
export type IngressObserver = ReturnType<typeof createObserver>;

/** Makes metrics and log lines of what happens, without any secret or value of a request. No sender can fill the log. */
export function createObserver({ logger, metrics, monotonic = monotonicMs }: ObserverPorts) {
  const countUntold = createPace(monotonic);
  const newShapeOf = createShapeMemory(monotonic);
  return {
    delivery(fact: DeliveryFact): void {
      metrics.countDelivery(fact);
      const { account, eventType, outcome } = fact;
      const count = isRefused(outcome) ? countUntold(`${account}/${eventType}/${outcome}`) : null;
      if (count !== null) logger.warn({ account, eventType, outcome, count }, 'deliveries were not taken');
      if (outcome !== 'accepted') logger.debug({ account, eventType, outcome }, 'delivery not accepted as usual');
    },
    /** Looks whether a body has a shape that this process had not seen at this account, event type and outcome. */
    body({ account, eventType }: SubscriptionKey, outcome: IntakeOutcome, rawBody: Buffer): void {
      const kind = { account, eventType, outcome };
      const shape = newShapeOf(kind, rawBody);
      if (shape === null) return;
      metrics.countNewShape(kind);
      if (shape !== 'notShown') logger.info({ ...kind, shape }, 'a delivery had a body of a new shape');
    },
    /** A delivery was verified by a header in which this process had seen no proof at that address. The sender chose the name, but only the
     *  service knows the secret. */
    verified({ account, eventType }: SubscriptionKey, found: { generation: string; header: string }): void {
      logger.info({ account, eventType, ...found }, 'deliveries carry a valid signature in this header');
    },
    /** A request failed in an unexpected way. */
    failure: (error: unknown): void => logger.error({ err: error }, 'a request failed'),
    /** A subscription does not know yet which deliveries were signed. A warning once a minute; all at `debug`. */
    notReported(key: SubscriptionKey, error: unknown): void {
      const level = countUntold('not reported') === null ? 'debug' : 'warn';
      logger[level](
        { ...key, err: error },
        'signed deliveries could not be reported to their subscription; it is tried again',
      );
    },
    /** Deliveries could not be forwarded. A warning once a minute, since groups fail again and again; all at `debug`. */
    notForwarded(error: Error): void {
      const level = countUntold('not forwarded') === null ? 'debug' : 'warn';
      logger[level]({ err: error }, 'deliveries could not be forwarded; they are tried again');
    },
  };
}

const tellEveryMs = 60_000;

/** Counts by name. Gives the number since it gave the last one: at once, and then once a minute; otherwise null. */
function createPace(monotonic: MonotonicClock): (name: string) => number | null {
  const told = new Map<string, { at: number; count: number }>();
  return (name) => {
    const last = told.get(name) ?? { at: Number.NEGATIVE_INFINITY, count: 0 };
    const count = last.count + 1;
    const isDue = monotonic() - last.at >= tellEveryMs;
    told.set(name, isDue ? { at: monotonic(), count: 0 } : { ...last, count });
    return isDue ? count : null;
  };
}

/** What this process knows of one account, event type and outcome. Those are closed lists, so refused deliveries use up nothing of those
 *  that were taken. */
interface SeenShapes {
  second: number;
  looks: number;
  hashes: Set<string>;
}

/** A look at a large body takes milliseconds. */
const looksPerSecond = 10;
/** After that each unseen shape is new again, and only counted. */
const maxSeen = 20;

/** Gives the shape of a body that this process has not seen yet: pointers and types, never a value, and `*` for a name that may be one.
 *  `notShown`: the log has shown enough of them. */
function createShapeMemory(
  monotonic: MonotonicClock,
): (kind: DeliveryKind, rawBody: Buffer) => string[] | 'notShown' | null {
  const kinds = new Map<string, SeenShapes>();

  function mayLook(seen: SeenShapes): boolean {
    const second = Math.floor(monotonic() / 1_000);
    if (second !== seen.second) [seen.second, seen.looks] = [second, 0];
    seen.looks += 1;
    return seen.looks <= looksPerSecond;
  }

  // Each delivery comes here. The body is parsed again for a look, so that none is held until its delivery is durable.
  return ({ account, eventType, outcome }, rawBody) => {
    const name = `${account}/${eventType}/${outcome}`;
    const seen = kinds.get(name) ?? { second: 0, looks: 0, hashes: new Set<string>() };
    kinds.set(name, seen);
    if (!mayLook(seen)) return null;
    const json = readIncomingJson(rawBody, { mustBeUtf8: true, limits: shares.body });
    if (json === undefined) return null; // not JSON
    const shape = shapeLines(bodyShape(json.value));
    const id = hash('sha256', shape.join('\n'), 'base64');
    if (seen.hashes.has(id)) return null;
    if (seen.hashes.size >= maxSeen) return 'notShown';
    seen.hashes.add(id);
    return shape;
  };
}
