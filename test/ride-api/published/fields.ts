import { isJsonObject } from '../../../src/contracts/json.js';

/**
 * How each field of a published answer is treated. Field names leave out array indexes; `*` stands for any part of a
 * cost.
 */
export interface FieldTable {
  /** Read or kept, whether payloads are encrypted or not; said as what. */
  found: Readonly<Record<string, string>>;
  /** Kept only where payloads are encrypted, and why. */
  encryptedOnly?: Readonly<Record<string, string>>;
  /** Changes nothing, and why. */
  notUsed?: Readonly<Record<string, string>>;
}

const named = (parent: string | undefined, name: string): string => (parent === 'calculation' ? '*' : name);

/** The fields of a body that hold no object, as paths. */
export function fieldsOf(body: unknown, path: readonly string[] = []): string[] {
  if (Array.isArray(body) && body.length > 0) return [...new Set(body.flatMap((one) => fieldsOf(one, path)))];
  if (!isJsonObject(body) || Object.keys(body).length === 0) return [path.join('/')];
  const inner = Object.entries(body).flatMap(([name, value]) => fieldsOf(value, [...path, named(path.at(-1), name)]));
  return [...new Set(inner)];
}

/** A value of the same kind that is another one. */
function another(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? ['other'] : value.map(another);
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  return value === null ? 1 : 'other';
}

/** The body without one of its fields, or with another value in it. */
export function changed(body: unknown, field: string, how: 'absent' | 'another'): unknown {
  const at = (value: unknown, [name, ...rest]: string[]): unknown => {
    if (Array.isArray(value)) return value.map((one) => at(one, [name ?? '', ...rest]));
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
      if (name !== '*' && key !== name) return [[key, inner]];
      if (rest.length > 0) return [[key, at(inner, rest)]];
      return how === 'absent' ? [] : [[key, another(inner)]];
    });
    return Object.fromEntries(entries);
  };
  return at(body, field.split('/'));
}

/** Rows of fields that are kept under their own names. */
export const keptAs = (result: string, names: string): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, `${result}/${name}`]));
