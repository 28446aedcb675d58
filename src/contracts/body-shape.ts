import { type JsonObject, jsonInside, mostTexts } from './json.js';

/** The types of JSON values, as a person reads them. */
type JsonType = 'object' | 'list' | 'text' | 'number' | 'boolean' | 'null' | 'none';

/** One place of a body: its pointer, with `*` for every element of a list, and the types of the values found there. */
interface ShapeField {
  at: string;
  types: JsonType[];
}

/** What a body looks like, without any value of it. Two bodies of one shape give the same JSON. */
export interface BodyShape {
  /** Sorted by pointer; the body itself stands at `""`. */
  fields: ShapeField[];
  /** Did the body hold more than a shape may? */
  isCut: boolean;
}

/** Bounds of time and space for bodies that mean harm. We expect a few dozen fields in four levels. */
const maxLevels = 8;
const maxFields = 120;
const maxElements = 20;
const maxVisits = 2_000;

// A map that is keyed by ids, phone numbers or tokens holds values as names. An ordinary name is short and has hardly a digit.
const ordinaryName = /^[A-Za-z_$@][\w.$@:-]{0,39}$/;
const isOrdinary = (name: string): boolean => ordinaryName.test(name) && name.replace(/\D/g, '').length <= 3;

function typeOf(value: unknown): JsonType {
  if (value === undefined) return 'none';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' || typeof value === 'boolean' ? (typeof value as 'number' | 'boolean') : 'object';
}

/** One value on the way through a body. */
interface Visit {
  value: unknown;
  /** How many texts are around it. */
  texts: number;
  /** The pointer that a reader of this body can follow; null below a name that is no ordinary one. */
  pointer: string | null;
  /** The same place in the shape. */
  at: string;
  depth: number;
}

/** The values of a body, those nearest to the top first. `isCut`: the bounds left some out. */
function valuesOf(body: unknown): { visits: Visit[]; isCut: boolean } {
  const visits: Visit[] = [{ value: body, texts: 0, pointer: '', at: '', depth: 0 }];
  let isCut = false;
  for (const visit of visits) {
    const parent = insideOf(visit);
    const names = namesIn(parent.value);
    const most = Array.isArray(parent.value) ? maxElements : maxFields;
    const room = visit.depth < maxLevels ? Math.min(most, maxVisits - visits.length) : 0;
    isCut ||= names.length > room;
    visits.push(...names.slice(0, room).map((name) => childOf(parent, name))); // the loop comes to them, too
  }
  return { visits, isCut };
}

/** The JSON in a text that a pointer can step into; anything else as it is. */
function insideOf(visit: Visit): Visit {
  if (typeof visit.value !== 'string' || visit.depth === 0 || visit.texts === mostTexts) return visit;
  const inside = jsonInside(visit.value);
  return inside?.flaw === null ? { ...visit, value: inside.value, texts: visit.texts + 1 } : visit;
}

/** Of a list that may be huge, only as many as tell that it is too long. */
function namesIn(value: unknown): string[] {
  const parent = Array.isArray(value) ? value.slice(0, maxElements + 1) : value;
  return typeof parent === 'object' && parent !== null ? Object.keys(parent) : [];
}

function childOf({ value: parent, texts, pointer, at, depth }: Visit, name: string): Visit {
  const isElement = Array.isArray(parent);
  const isKept = isElement || isOrdinary(name);
  return {
    value: (parent as JsonObject)[name],
    texts,
    pointer: pointer === null || !isKept ? null : `${pointer}/${name}`,
    at: `${at}/${isKept && !isElement ? name : '*'}`,
    depth: depth + 1,
  };
}

/**
 * The shape of a parsed body: names and types, never a value. It is safe for any body: the depth, the number of fields and the time are
 * bounded, and a name that may be a value itself (an id, a phone number, a token) becomes `*`. A body that is absent or no JSON is
 * `undefined` here and has the type `none`.
 */
export function bodyShape(body: unknown): BodyShape {
  const { visits, isCut } = valuesOf(body);
  const found = new Map<string, Set<JsonType>>();
  for (const { value, at } of visits) found.set(at, (found.get(at) ?? new Set()).add(typeOf(value)));
  const fields = [...found].slice(0, maxFields).map(([at, types]) => ({ at, types: [...types].sort() }));
  fields.sort((one, other) => (one.at < other.at ? -1 : 1));
  return { fields, isCut: isCut || found.size > maxFields };
}

/** The shape as lines for a person: pointer and types, the body itself first. */
export function shapeLines({ fields, isCut }: BodyShape): string[] {
  const lines = fields.map(({ at, types }) => `${at || '(body)'}: ${types.join(' or ')}`);
  return isCut ? [...lines, '(the body holds more)'] : lines;
}

/** The pointers to all values of a body that `isWanted` accepts, those nearest to the top first. Same bounds as `bodyShape`; a place below
 *  a name that may be a value is left out, since the pointer would repeat it. */
export const pointersWhere = (body: unknown, isWanted: (value: unknown) => boolean): string[] =>
  valuesOf(body)
    .visits.flatMap(({ value, pointer }) => (pointer && isWanted(value) ? pointer : []))
    .slice(0, maxFields);
