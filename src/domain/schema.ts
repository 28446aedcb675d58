import { InvalidInput } from './errors.js';
import { shownText } from './json.js';

// One definition for each input and each answer: its type, its reader, the messages that name the field, and the JSON Schema that
// is published all come from it. Why these few kinds and not zod: docs/decisions/10-one-definition-of-an-input.md.

/** A JSON Schema, or a part of one. */
export type Json = Readonly<Record<string, unknown>>;

/** How one value is read, and how that is published. `Sent` is what a caller may write for it. */
export interface Schema<Out, Sent = Out> {
  /** Throws `InvalidInput` that says what the value at `at` must be, and never the value. `at` is empty for the whole input. */
  readonly read: (value: unknown, at: string) => Out;
  /** What is published of it. */
  readonly json: Json;
  /** May the field be left out of its object? */
  readonly isOptional?: boolean;
  /** Elsewhere a null counts as a field that is not set. */
  readonly takesNull?: boolean;
  /** Only a type; never there. */
  readonly sent?: Sent;
}

/** That of a field that may be left out. */
export interface OptionalSchema<Out, Sent = Out> extends Schema<Out, Sent> {
  readonly isOptional: true;
}

type AnySchema = Schema<unknown, unknown>;
type Fields = Readonly<Record<string, AnySchema>>;
type Flat<T> = { [K in keyof T]: T[K] };
type Optional<F> = { [K in keyof F]: F[K] extends OptionalSchema<unknown, unknown> ? K : never }[keyof F];

/** What a schema reads. */
export type Read<S> = S extends Schema<infer Out, infer _Sent> ? Out : never;
/** What a caller may write for it. */
export type Sent<S> = S extends Schema<infer _Out, infer Sent> ? Sent : never;
type ReadFields<F> = Flat<
  { -readonly [K in Exclude<keyof F, Optional<F>>]: Read<F[K]> } & { -readonly [K in Optional<F>]?: Read<F[K]> }
>;
type SentFields<F> = Flat<
  { -readonly [K in Exclude<keyof F, Optional<F>>]: Sent<F[K]> } & {
    -readonly [K in Optional<F>]?: Sent<F[K]> | undefined;
  }
>;

/** Refuses the value at `at`. */
export function refuse(at: string, rule: string): never {
  throw new InvalidInput(`${at || 'input'}: ${rule}`);
}

/** Reads the value as it is, if `isFit` takes it. */
const valueThat = <Out>(isFit: (value: unknown) => boolean, rule: string, json: Json): Schema<Out> => ({
  read: (value, at) => (isFit(value) ? (value as Out) : refuse(at, rule)),
  json,
});

/** A further rule for what a schema reads. The published schema does not hold it. */
export const checked = <Out, In>(
  schema: Schema<Out, In>,
  isFit: (value: Out) => boolean,
  rule: string,
): Schema<Out, In> => ({
  ...schema,
  read: (value, at) => {
    const read = schema.read(value, at);
    return isFit(read) ? read : refuse(at, rule);
  },
});

/** Turns what a schema reads into another form. */
export const mapped = <Out, In, To>({ read, json }: Schema<Out, In>, to: (value: Out) => To): Schema<To, In> => ({
  read: (value, at) => to(read(value, at)),
  json,
});

/** Adds a sentence to the published schema. */
export const described = <S extends AnySchema>(schema: S, description: string): S => ({
  ...schema,
  json: { ...schema.json, description },
});

/** A text that `pattern` takes. */
export const matching = (pattern: RegExp, rule: string, json: Json = { pattern: pattern.source }): Schema<string> =>
  valueThat((value) => typeof value === 'string' && pattern.test(value), rule, { type: 'string', ...json });

/** A text of 1 to `max` characters. */
export const text = (max = 200, rule = `must be a text of 1 to ${max} characters`): Schema<string> =>
  valueThat((value) => typeof value === 'string' && value !== '' && value.length <= max, rule, {
    type: 'string',
    minLength: 1,
    maxLength: max,
  });

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
const namePattern = /^[^\x00-\x1f\x7f-\x9f]+$/;
/** A text that becomes a name, such as a workflow id: without control and format characters. */
export const nameText: Schema<string> = {
  ...checked(text(), (value) => shownText(value) === value, 'must not hold control or format characters'),
  // A pattern that every language reads cannot name the format characters.
  json: { ...text().json, pattern: namePattern.source },
};

/** A web address of at most `max` characters, as `toAddress` spells it; undefined: it takes none such. */
export const webAddress = (
  max: number,
  toAddress: (given: string) => string | undefined,
  rule: string,
): Schema<string> => ({
  read: (value, at) =>
    (typeof value === 'string' && value.length <= max ? toAddress(value) : undefined) ?? refuse(at, rule),
  json: { type: 'string', maxLength: max, format: 'uri' },
});

/** A whole number within bounds. */
export const wholeNumber = (
  minimum = Number.MIN_SAFE_INTEGER,
  maximum = Number.MAX_SAFE_INTEGER,
  rule = `must be a whole number from ${minimum} to ${maximum}`,
): Schema<number> =>
  valueThat(
    (value) => Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
    rule,
    { type: 'integer', minimum, maximum },
  );

/** A positive whole number. */
export const positive = wholeNumber(1, Number.MAX_SAFE_INTEGER, 'must be a positive whole number');

/** True or false. */
export const flag: Schema<boolean> = valueThat((value) => typeof value === 'boolean', 'must be true or false', {
  type: 'boolean',
});

/** Only `true`. */
export const yes: Schema<true> = valueThat((value) => value === true, 'must be true', { type: 'boolean', const: true });

/** One of several words. */
export const wordOf = <const Word extends string>(words: readonly Word[]): Schema<Word> =>
  valueThat((value) => words.some((one) => one === value), `must be one of ${words.join(', ')}`, {
    type: 'string',
    ...(words.length === 1 ? { const: words[0] } : { enum: words }),
  });

/** Any value. */
export const anything: Schema<unknown> = { read: (value) => value, json: {}, takesNull: true };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A JSON object of whatever fields. */
export const anyObject = (rule = 'must be a JSON object'): Schema<Record<string, unknown>> =>
  valueThat(isObject, rule, { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} });

/** A list of at most `max` entries. */
export const listOf = <Out, In>(item: Schema<Out, In>, max = Infinity): Schema<Out[], In[]> => ({
  read: (value, at) => {
    if (!Array.isArray(value) || value.length > max)
      return refuse(at, max === Infinity ? 'must be a list' : `must be a list of at most ${max} entries`);
    return value.map((entry: unknown, index) => item.read(entry, `${at}[${index}]`));
  },
  json: { type: 'array', items: item.json, ...(max === Infinity ? {} : { maxItems: max }) },
});

function orNull(json: Json): Json {
  const names = Object.keys(json);
  if (names.length === 0) return json; // any value, so null too
  return names.join() === 'type' ? { type: [json.type, 'null'] } : { anyOf: [json, { type: 'null' }] };
}

const withNote = (json: Json, description: string | undefined): Json =>
  description === undefined ? json : { ...json, description };

/** What `schema` reads, or null. */
export const nullable = <Out, In>(schema: Schema<Out, In>, description?: string): Schema<Out | null, In | null> => ({
  read: (value, at) => (value === null ? null : schema.read(value, at)),
  json: withNote(orNull(schema.json), description),
  takesNull: true,
});

/** A field of an answer that may be absent. */
export const absentOr = <Out, In>(schema: Schema<Out, In>, description?: string): OptionalSchema<Out, In> => ({
  ...schema,
  json: withNote(schema.json, description),
  isOptional: true,
});

/** A field of an input that may be left out. JSON made by other languages often says null for a field that is not set. */
export const optional = <Out, In>(
  { read, json }: Schema<Out, In>,
  description?: string,
): OptionalSchema<Out, In | null> => ({ read, json: withNote(orNull(json), description), isOptional: true });

function readFields(fields: Fields, given: Record<string, unknown>, at: string): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(fields)) {
    const value = given[key] === null && !schema.takesNull ? undefined : given[key];
    if (value !== undefined || !schema.isOptional) read[key] = schema.read(value, at === '' ? key : `${at}.${key}`);
  }
  return read;
}

const toObject = (value: unknown, at: string): Record<string, unknown> =>
  isObject(value) ? value : refuse(at, 'must be a JSON object');

function refuseUnknown(given: Record<string, unknown>, known: readonly string[], at: string): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined)
    refuse(at, `unknown field "${shownText(unknown.slice(0, 40))}"; known are ${known.join(', ')}`);
}

function jsonOf(fields: Fields): Json {
  const properties = Object.fromEntries(Object.entries(fields).map(([key, { json }]) => [key, json]));
  const required = Object.keys(fields).filter((key) => !fields[key]?.isOptional);
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** An object that any language may send. Unknown fields are refused, so that a misspelt option is never silently without effect. */
export const inputOf = <const F extends Fields>(fields: F): Schema<ReadFields<F>, SentFields<F>> => ({
  read: (value, at) => {
    const given = toObject(value, at);
    refuseUnknown(given, Object.keys(fields), at);
    return readFields(fields, given, at) as ReadFields<F>;
  },
  json: { ...jsonOf(fields), additionalProperties: false },
});

/** An object that a run answers or tells. Fields that a later release adds are left out. */
export const answerOf = <const F extends Fields>(fields: F): Schema<ReadFields<F>, SentFields<F>> & { fields: F } => ({
  read: (value, at) => readFields(fields, toObject(value, at), at) as ReadFields<F>,
  json: jsonOf(fields),
  fields,
});

/** What the schema reads, or `otherwise` for a value that it refuses: for what any program may have sent, and nobody waits for an answer. */
export function readOr<Out, Other>(schema: Schema<Out, unknown>, value: unknown, otherwise: Other): Out | Other {
  try {
    return schema.read(value, '');
  } catch {
    return otherwise;
  }
}

/** Text in an answer. Only its type says more, since a caller must outlive a word that a later release adds. */
export const answered = <Word extends string = string>(description?: string): Schema<Word, string> =>
  valueThat<Word>(
    (value) => typeof value === 'string',
    'must be a text',
    withNote({ type: 'string' }, description),
  ) as Schema<Word, string>;

/** One of several inputs. `choose` gets the names of the fields that are set, and answers which input they make or which rule they break. */
export const oneOf = <const Forms extends readonly AnySchema[]>(
  forms: Forms,
  choose: (set: readonly string[]) => number | string,
): Schema<Read<Forms[number]>, Sent<Forms[number]>> => {
  const known = [...new Set(forms.flatMap(({ json }) => Object.keys(json.properties as object)))];
  return {
    read: (value, at) => {
      const given = toObject(value, at);
      refuseUnknown(given, known, at);
      const set = Object.entries(given).filter(([, field]) => field !== undefined && field !== null);
      const chosen = choose(set.map(([key]) => key));
      if (typeof chosen === 'string') return refuse(at, chosen);
      return forms[chosen]?.read(Object.fromEntries(set), at) as Read<Forms[number]>;
    },
    json: { anyOf: forms.map(({ json }) => json) },
  };
};
