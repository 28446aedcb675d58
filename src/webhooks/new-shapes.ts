import { hash } from 'node:crypto';
import { bodyShape, shapeLines } from '../contracts/body-shape.js';
import { readIncomingJson } from '../contracts/json.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { NewShape } from './ingress-observer.js';
import type { IntakeOutcome } from './problems.js';

/** Gives the shape of a delivered body that this process has not seen yet, otherwise null. Never throws. */
type FindNewShape = (key: SubscriptionKey, outcome: IntakeOutcome, rawBody: Buffer) => NewShape | null;

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

  function kindOf({ account, eventType }: SubscriptionKey, outcome: IntakeOutcome): Kind {
    const name = `${account}/${eventType}/${outcome}`;
    const known = kinds.get(name);
    if (known) return known;
    const kind = { second: 0, looks: 0, seen: new Set<string>() };
    kinds.set(name, kind);
    return kind;
  }

  function mayLook(kind: Kind): boolean {
    const second = Math.floor(now() / 1_000);
    if (second !== kind.second) [kind.second, kind.looks] = [second, 0];
    kind.looks += 1;
    return kind.looks <= looksPerSecond;
  }

  // Each delivery comes here. The body is parsed again for a look, so that none is held until its delivery is durable.
  return (key, outcome, rawBody) => {
    const kind = kindOf(key, outcome);
    if (!mayLook(kind)) return null;
    const shape = boundedShape(readIncomingJson(rawBody, { mustBeUtf8: true })?.value);
    const id = hash('sha256', shape.join('\n'), 'base64');
    if (kind.seen.has(id)) return null;
    const isShown = kind.seen.size < maxSeen;
    if (isShown) kind.seen.add(id);
    const { account, eventType } = key;
    return { account, eventType, outcome, shape: isShown ? shape : null };
  };
}

function boundedShape(body: unknown): string[] {
  const { fields, isCut } = bodyShape(body);
  let room = maxCharacters;
  const kept = fields.filter((field) => {
    room -= JSON.stringify(field).length;
    return room >= 0;
  });
  return shapeLines({ fields: kept, isCut: isCut || kept.length < fields.length });
}
