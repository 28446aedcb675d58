import fc from 'fast-check';

/** Checks a sentence for many values of these kinds: `forAny(kind, ..., (value, ...) => expect(...))`. */
export const forAny = <Values extends [unknown, ...unknown[]]>(
  ...args: [...kinds: { [Key in keyof Values]: fc.Arbitrary<Values[Key]> }, check: (...values: Values) => undefined]
): void => fc.assert(fc.property(...args));
