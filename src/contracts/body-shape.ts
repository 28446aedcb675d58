import { isJsonObject } from './json.js';

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
  /** The pointer that a reader of this body can follow; null below a name that is no ordinary one. */
  pointer: string | null;
  /** The same place in the shape. */
  at: string;
}

/** Calls `act` for each value of a body, those nearest to the top first. Gives true if the bounds left some out. */
function visitValues(body: unknown, act: (visit: Visit) => boolean): boolean {
  let level: Visit[] = [{ value: body, pointer: '', at: '' }];
  let visits = 0;
  let isCut = false;
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: Visit[] = [];
    for (const visit of level) {
      visits += 1;
      if (visits > maxVisits || !act(visit)) return true;
      const children = childrenOf(visit);
      isCut ||= children.isCut || (depth === maxLevels && children.visits.length > 0);
      if (depth < maxLevels && next.length <= maxVisits) next.push(...children.visits);
    }
    level = next;
  }
  return isCut;
}

function childrenOf({ value, pointer, at }: Visit): { visits: Visit[]; isCut: boolean } {
  if (Array.isArray(value)) {
    const elements = value.slice(0, maxElements).map((element: unknown, index) => ({
      ...{ value: element, pointer: pointer === null ? null : `${pointer}/${index}`, at: `${at}/*` },
    }));
    return { visits: elements, isCut: value.length > maxElements };
  }
  if (!isJsonObject(value)) return { visits: [], isCut: false };
  const names = Object.keys(value);
  const visits = names.slice(0, maxFields).map((name) => {
    const isKept = isOrdinary(name);
    const below = pointer === null || !isKept ? null : `${pointer}/${name}`;
    return { value: value[name], pointer: below, at: `${at}/${isKept ? name : '*'}` };
  });
  return { visits, isCut: names.length > maxFields };
}

/**
 * The shape of a parsed body: names and types, never a value. It is safe for any body: the depth, the number of fields and the time are
 * bounded, and a name that may be a value itself (an id, a phone number, a token) becomes `*`. A body that is absent or no JSON is
 * `undefined` here and has the type `none`.
 */
export function bodyShape(body: unknown): BodyShape {
  const found = new Map<string, Set<JsonType>>();
  const isCut = visitValues(body, ({ value, at }) => {
    const types = found.get(at);
    if (types === undefined && found.size >= maxFields) return false;
    found.set(at, (types ?? new Set()).add(typeOf(value)));
    return true;
  });
  const fields = [...found].map(([at, types]) => ({ at, types: [...types].sort() }));
  return { fields: fields.sort((one, other) => (one.at < other.at ? -1 : 1)), isCut };
}

/** The shape as lines for a person: pointer and types, the body itself first. */
export function shapeLines({ fields, isCut }: BodyShape): string[] {
  const lines = fields.map(({ at, types }) => `${at || '(body)'}: ${types.join(' or ')}`);
  return isCut ? [...lines, '(the body holds more)'] : lines;
}

/** The pointers to all values of a body that `isWanted` accepts, those nearest to the top first. Same bounds as `bodyShape`; a place below
 *  a name that may be a value is left out, since the pointer would repeat it. */
export function pointersWhere(body: unknown, isWanted: (value: unknown) => boolean): string[] {
  const pointers: string[] = [];
  visitValues(body, ({ value, pointer }) => {
    if (pointer !== null && pointer !== '' && isWanted(value)) pointers.push(pointer);
    return pointers.length < maxFields;
  });
  return pointers;
}
