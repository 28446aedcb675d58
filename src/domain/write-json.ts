import { measureJson, surrogateEscape, withWellFormedTexts } from './json-text.js';

/**
 * The JSON of any value, such that `readJson` with the same `levels` takes it: the same text as `JSON.stringify` wherever that
 * has one. Elsewhere a BigInt becomes text, and null stands for what has no JSON, for what comes again and for what is nested deeper.
 */
export function writeJson(value: unknown, levels: number): string {
  const json = jsonOf(value);
  if (json === undefined || measureJson(json).depth > levels)
    return writeJson(toPlain(value, levels, new Set()), levels);
  return surrogateEscape.test(json) ? JSON.stringify(withWellFormedTexts(JSON.parse(json))) : json;
}

/** Undefined: there is none. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // a cycle, a BigInt, a getter that throws, or deeper than the stack
  }
}

function toPlain(value: unknown, levels: number, seen: Set<object>): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return isJsonWord(value) ? value : null;
  if (value === null || levels === 0 || seen.has(value)) return null;
  seen.add(value);
  const read = (name: string): unknown => {
    try {
      return toPlain((value as Record<string, unknown>)[name], levels - 1, seen);
    } catch {
      return null;
    }
  };
  if (Array.isArray(value)) return Array.from(value, (_, index) => read(String(index)));
  return Object.fromEntries(namesOf(value).map((name) => [name, read(name)]));
}

const isJsonWord = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

function namesOf(value: object): string[] {
  try {
    return Object.keys(value);
  } catch {
    return []; // a proxy may refuse
  }
}
