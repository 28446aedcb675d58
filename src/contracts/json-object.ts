/** A JSON object, as opposed to an array, a scalar or null. */
export type JsonObject = Record<string, unknown>;

/** Is this a JSON object? */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of an own property of an object; undefined for anything else, inherited names included. */
export const ownValue = (value: unknown, key: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
