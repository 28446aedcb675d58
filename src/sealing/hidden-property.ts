/**
 * Adds a property that printing, `JSON.stringify`, logging and spreading all pass over, for values that must never be shown
 * by accident. A copy made with `{ ...object }` therefore lacks it: pass the object on, do not copy it.
 */
export function withHidden<T extends object, K extends string, V>(target: T, name: K, value: V): T & Record<K, V> {
  Object.defineProperty(target, name, { value, enumerable: false });
  return target as T & Record<K, V>;
}
