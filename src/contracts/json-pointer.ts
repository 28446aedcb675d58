import { ownValue } from './json-object.js';

const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

// RFC 6901 section 4: digits without a leading zero; "-" names the element after the last, which no reader can have.
const arrayIndex = /^(0|[1-9]\d*)$/;

function childOf(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) return arrayIndex.test(token) ? parent[Number(token)] : undefined;
  return ownValue(parent, token);
}

/** Follows a JSON pointer (RFC 6901) through own properties only; undefined where it leads nowhere or is no pointer. */
export function valueAt(document: unknown, pointer: string): unknown {
  if (pointer === '') return document;
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer.slice(1).split('/').map(unescaped).reduce(childOf, document);
}

/** The pointer to the object or array that holds what `pointer` names. */
export const parentPointer = (pointer: string): string => pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));
