import { hash } from 'node:crypto';
import { bodyShape, shapeLines } from '../contracts/body-shape.js';
import type { JsonObject } from '../contracts/json.js';
import type { DeliveryFact, NewShape } from './ingress-observer.js';

/** Gives the shape of a delivered body that this process has not seen yet, otherwise null. Never throws. */
type FindNewShape = (
  about: Pick<DeliveryFact, 'account' | 'eventType' | 'outcome'>,
  body: JsonObject,
) => NewShape | null;

/** What this process knows of one account, event type and outcome. Those are closed lists, so refused deliveries use up nothing of those
 *  that were taken. */
interface Kind {
  second: number;
  looks: number;
  /** Hashes. */
  seen: Set<string>;
}

/** A look at a large body takes milliseconds. */
const looksPerSecond = 10;
/** After that each unseen shape is new again, and only counted. */
const maxSeen = 20;
/** Characters of a shape in the log. The deliveries of the service need about a thousand. */
const maxCharacters = 6_000;

/** Makes the function that finds new shapes, with a memory of its own. */
export function createNewShapes(now: () => number = Date.now): FindNewShape {
  const kinds = new Map<string, Kind>();

  function mayLook(kind: Kind): boolean {
    const second = Math.floor(now() / 1_000);
    if (second !== kind.second) Object.assign(kind, { second, looks: 0 });
    kind.looks += 1;
    return kind.looks <= looksPerSecond;
  }

  return ({ account, eventType, outcome }, body) => {
    const name = `${account}/${eventType}/${outcome}`;
    const kind = kinds.get(name) ?? { second: 0, looks: 0, seen: new Set() };
    kinds.set(name, kind);
    if (!mayLook(kind)) return null;
    const shape = boundedShape(body);
    const id = hash('sha256', shape.join('\n'), 'base64');
    if (kind.seen.has(id)) return null;
    const isShown = kind.seen.size < maxSeen;
    if (isShown) kind.seen.add(id);
    return { account, eventType, outcome, shape: isShown ? shape : null };
  };
}

function boundedShape(body: JsonObject): string[] {
  const { fields, isCut } = bodyShape(body);
  let room = maxCharacters;
  const kept = fields.filter((field) => {
    room -= JSON.stringify(field).length;
    return room >= 0;
  });
  return shapeLines({ fields: kept, isCut: isCut || kept.length < fields.length });
}
