import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DeliveryShape } from '../../contracts/delivery-shape.js';
import type { AcceptedSubscriptions } from '../accepted-subscriptions.js';
import type { DeliverySecret } from '../verification.js';
import type { AnsweredDelivery, createLook, Look } from './look.js';

/** The last few shapes of deliveries. Only deliveries at one of our addresses come here, so that a stranger without one leaves nothing. */
export interface ShapeNotebook {
  /** Takes a delivery after its answer. Takes about a microsecond for one that is not looked at, and never throws. */
  note(delivery: AnsweredDelivery): void;
  /** Resolves once the notebook has looked at what it took. */
  settled(): Promise<void>;
  shapes(): DeliveryShape[];
}

interface NotebookParts {
  look: ReturnType<typeof createLook>;
  subscriptions: AcceptedSubscriptions;
  /** Shapes of an earlier start. */
  known: readonly DeliveryShape[];
  onChange(): void;
  onFailure(error: unknown): void;
  now?: () => number;
}

/** A shape is kept for each account, event type and kind; the oldest gives way. */
const shapesPerKind = 5;
/** For each account, event type and outcome: looks at once, and then one a second. */
const burst = 20;
const everyMs = 1_000;
/** Looks that wait at a time. Each holds a body of at most 256 KiB. */
const maxWaiting = 20;

/** An empty notebook, or one with the shapes of an earlier start. */
export function createShapeNotebook(parts: NotebookParts): ShapeNotebook {
  const { look, onChange, onFailure, now = Date.now } = parts;
  const kept = new Map<string, DeliveryShape>();
  for (const shape of parts.known) keep(kept, shape);
  const mayLook = createAllowance(now);
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  /** The secrets of the subscription where they are known; a delivery that is refused for its address has none. */
  async function secretsFor({ arrival }: AnsweredDelivery): Promise<readonly DeliverySecret[] | null> {
    const acceptance = await parts.subscriptions.acceptanceOf(arrival, arrival.generation);
    return typeof acceptance === 'object' ? acceptance.secrets : null;
  }

  async function lookAt(delivery: AnsweredDelivery): Promise<void> {
    const secrets = await secretsFor(delivery);
    await nextTurn(); // a look for itself, so that deliveries wait for one at most
    const seenAt = new Date(delivery.arrival.arrivedAt).toISOString();
    keep(kept, { ...look(delivery, secrets), count: 1, firstAt: seenAt, lastAt: seenAt });
    onChange();
  }

  return {
    note(delivery) {
      const { arrival, outcome } = delivery;
      if (waiting >= maxWaiting || !mayLook(`${arrival.account}/${arrival.eventType}/${outcome}`)) return;
      waiting += 1;
      last = last
        .then(() => lookAt(delivery))
        .catch(onFailure)
        .finally(() => {
          waiting -= 1;
        });
    },
    settled: () => last,
    shapes: () => [...kept.values()],
  };
}

/** Says for each key whether it may happen: `burst` times at once, then once in `everyMs`. The settings and the outcomes bound the keys. */
function createAllowance(now: () => number): (key: string) => boolean {
  const spent = new Map<string, { units: number; at: number }>();
  return (key) => {
    const at = now();
    const before = spent.get(key);
    const units = before ? Math.max(0, before.units - Math.max(0, at - before.at) / everyMs) : 0;
    if (units > burst - 1) return false;
    spent.set(key, { units: units + 1, at });
    return true;
  };
}

/**
 * What shares the room of a shape. Deliveries with the right secret have a room of their own, which no stranger can fill, and refused and
 * parked ones never displace those that were taken.
 */
function kindOf({ account, eventType, outcome, secret }: Look): string {
  const isProven = secret.place !== 'none' && secret.place !== 'unknown';
  const isTaken = outcome === 'accepted' || outcome === 'unchecked' || outcome === 'test';
  const fate = isTaken ? 'taken' : outcome === 'parked' ? 'parked' : 'refused';
  return `${account}/${eventType}/${fate}/${isProven}`;
}

/** Keeps a shape, or counts it where it is kept already. The map holds the newest last. */
function keep(kept: Map<string, DeliveryShape>, shape: DeliveryShape): void {
  const { count, firstAt, lastAt, ...look } = shape;
  const id = JSON.stringify(Object.entries(look).sort());
  const before = kept.get(id);
  kept.delete(id);
  kept.set(id, before ? { ...before, count: before.count + count, lastAt } : shape);
  const kind = kindOf(look);
  const sharing = [...kept].filter(([, one]) => kindOf(one) === kind);
  for (const [oldest] of sharing.slice(0, -shapesPerKind)) kept.delete(oldest);
}
