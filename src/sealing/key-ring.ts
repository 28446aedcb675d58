import { Buffer } from 'node:buffer';

/**
 * Adds a property that printing, `JSON.stringify`, logging and spreading all pass over, for values that must never be shown
 * by accident. A copy made with `{ ...object }` therefore lacks it: pass the object on, do not copy it.
 */
export function withHidden<T extends object, K extends string, V>(target: T, name: K, value: V): T & Record<K, V> {
  Object.defineProperty(target, name, { value, enumerable: false });
  return target as T & Record<K, V>;
}

/** One key, of AES-256 where it seals. `key` is not enumerable, so no print or log of a ring shows it. */
export interface NamedKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

/** The first key seals, all open; so a key is rotated by putting the new one in front. */
export type KeyRing = readonly [NamedKey, ...NamedKey[]];

/** What a key id may look like; it stands in clear in every sealed text. */
export const kidPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** What keys of a ring look like. */
export interface KeyForm {
  pattern: RegExp;
  /** For error messages. */
  rule: string;
}

// RFC 7518 section 5.3: A256GCM takes exactly 256 bits. 32 bytes are 43 characters of base64url, RFC 4648 section 5.
const sealingForm: KeyForm = {
  pattern: /^[A-Za-z0-9_-]{43}$/,
  rule: '32 bytes as base64url (43 characters, no padding)',
};

/** Standard Webhooks 1.0 has secrets of 24 to 64 bytes. No number of bytes makes 1, 5, 9 ... characters of base64url. */
export const signingForm: KeyForm = {
  pattern: /^(?!(....)*.$)[A-Za-z0-9_-]{32,86}$/,
  rule: '24 to 64 bytes as base64url (no padding)',
};

/** The command that makes a key; shown wherever one is missing or malformed. */
export const keyRecipe = `node -e "console.log('k1:' + crypto.randomBytes(32).toString('base64url'))"`;

export const createNamedKey = (kid: string, key: Uint8Array): NamedKey =>
  Object.freeze(withHidden({ kid }, 'key', key));

/** Reads `kid:key,kid:key`. Problems name entries by position only: a malformed entry may be nothing but a key. */
export function parseKeyRing(text: string, form = sealingForm): { ring: KeyRing } | { problems: string[] } {
  const problems: string[] = [];
  const keys: NamedKey[] = [];
  text.split(',').forEach((entry, index) => {
    const colon = entry.indexOf(':');
    const kid = entry.slice(0, colon);
    const encoded = entry.slice(colon + 1);
    const at = `entry ${index + 1}`;
    if (colon < 0 || !kidPattern.test(kid)) {
      problems.push(`${at} must be kid:key, with a kid of 1 to 64 letters, digits, ".", "_" or "-"`);
    } else if (!form.pattern.test(encoded)) {
      problems.push(`${at} must hold ${form.rule}; make one with: ${keyRecipe}`);
    } else {
      const key = createNamedKey(kid, Buffer.from(encoded, 'base64url'));
      problems.push(...clashes(key, keys).map((clash) => `${at} ${clash}`));
      keys.push(key);
    }
  });
  const [first, ...rest] = keys;
  return problems.length > 0 || first === undefined ? { problems } : { ring: [first, ...rest] };
}

function clashes(key: NamedKey, before: readonly NamedKey[]): string[] {
  const sameKid = before.findIndex((other) => other.kid === key.kid);
  const sameKey = before.findIndex((other) => isSameKey(other, key));
  return [
    ...(sameKid < 0 ? [] : [`has the kid of entry ${sameKid + 1}; give each key its own`]),
    ...(sameKey < 0 ? [] : [`has the key of entry ${sameKey + 1}; remove one of them`]),
  ];
}

/** Do both rings hold one and the same key? Then the holder of one ring can read what the other sealed. */
export const sharesKey = (a: KeyRing, b: KeyRing): boolean => a.some((key) => b.some((other) => isSameKey(key, other)));

const isSameKey = (a: NamedKey, b: NamedKey): boolean => Buffer.from(a.key).equals(b.key);
