/** How a field of a JSON object is written by those who mean no good, or do not know better: the whole member. */
type HostileField = (name: string) => Buffer;

const text = (json: string): HostileField => written((name) => `${JSON.stringify(name)}:${json}`);
const written =
  (member: (name: string) => string): HostileField =>
  (name) =>
    Buffer.from(member(name));
const raw =
  (...bytes: number[]): HostileField =>
  (name) =>
    Buffer.concat([Buffer.from(`${JSON.stringify(name)}:"Dri`), Buffer.from(bytes), Buffer.from('ving"')]);
const levels = 5_000;

/** What no field of an answer, a delivery or an input may do harm with. */
export const hostileFields = {
  halfPairEscaped: text('"Dri\\ud800ving"'),
  halfPairInBytes: raw(0xed, 0xa0, 0x80),
  invalidUtf8: raw(0xff),
  nul: text('"Dri\\u0000ving"'),
  nulInBytes: raw(0),
  escape: text('"\\u001b[31mDriving\\u0007"'),
  rightToLeft: text('"\\u202egnivirD"'),
  byteOrderMark: text('"\\ufeffDriving"'),
  lines: text('"Driving\\n\\r\\u2028| a | b |"'),
  megabyte: text(`"${'x'.repeat(1_000_000)}"`),
  levels: text(`${'['.repeat(levels)}${']'.repeat(levels)}`),
  objects: text(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`),
  twice: written((name) => `${JSON.stringify(name)}:"Driving",${JSON.stringify(name)}:"Completed"`),
  prototype: text('{"__proto__":{"status":"Completed"}}'),
  beyond2to53: text('9007199254740993'),
  notANumber: text('NaN'),
} satisfies Record<string, HostileField>;

export type Hostility = keyof typeof hostileFields;
export const hostilities = Object.keys(hostileFields) as Hostility[];

/** JSON of `base`, in which the field at `path` is written like this. */
export function hostileJson(base: unknown, path: readonly string[], field: HostileField): Buffer {
  const [key = '', ...rest] = path;
  if (Array.isArray(base)) {
    const items = base.map((item, index) => (String(index) === key ? inside(item, rest, field) : json(item)));
    return Buffer.concat([Buffer.from('['), ...joined(items), Buffer.from(']')]);
  }
  const { [key]: inner, ...others } = isObject(base) ? base : {};
  const members = Object.entries(others).map(([name, value]) => member(name, json(value)));
  const hostile = rest.length === 0 ? field(key) : member(key, hostileJson(inner, rest, field));
  return Buffer.concat([Buffer.from('{'), ...joined([...members, hostile]), Buffer.from('}')]);
}

const inside = (item: unknown, rest: readonly string[], field: HostileField): Buffer =>
  rest.length === 0 ? field('').subarray('"":'.length) : hostileJson(item, rest, field);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const member = (name: string, value: Buffer): Buffer => Buffer.concat([json(name), Buffer.from(':'), value]);
const joined = (parts: Buffer[]): Buffer[] =>
  parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.from(','), part]));

/**
 * The fields of `base`, and all that a reader looks for: it is given a body that takes down the path of each property that is
 * asked for. Once with the fields of `base` alone, once with none, since a reader stops at the first that it can use.
 */
export async function fieldsRead(base: unknown, read: (body: unknown) => unknown): Promise<string[][]> {
  const seen = new Map(pathsIn(base).map((path) => [JSON.stringify(path), path]));
  for (const known of [base, {}]) {
    try {
      await read(watched(known, [], (path) => seen.set(JSON.stringify(path), path)));
    } catch {
      // a reader that finds nothing says so
    }
  }
  return [...seen.values()];
}

function pathsIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]));
}

function watched(known: unknown, path: string[], see: (path: string[]) => void): unknown {
  if (Array.isArray(known)) return known.map((item, index) => watched(item, [...path, String(index)], see));
  if (known !== undefined && !isObject(known)) return known;
  const childOf = (name: string | symbol): unknown => {
    if (typeof name === 'symbol' || name === 'toJSON') return undefined;
    const child = [...path, name];
    see(child);
    return watched((known as Record<string, unknown> | undefined)?.[name], child, see);
  };
  return new Proxy(
    {},
    {
      get: (_, name) => childOf(name),
      getOwnPropertyDescriptor: (_, name) => ({ value: childOf(name), configurable: true, enumerable: true }),
      ownKeys: () => Object.keys(known ?? {}),
    },
  );
}
