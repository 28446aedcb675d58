import type { Scope } from '../domain/keys.js';
import { ownValue } from './json.js';
import { UnusableReply } from './unusable-reply.js';

/** What a token endpoint granted. */
export interface TokenReply {
  accessToken: string;
  /** The lifetime in the reply, in milliseconds, or the fallback. */
  lifetimeMs: number;
  /** What makes the answer unlike the one that the request should get, in texts that hold no secret. */
  differences: readonly string[];
}

// VSCHAR without the blank (RFC 6749 A.12): an Authorization header takes no other characters.
const sendableToken = /^[\x21-\x7e]{1,16384}$/;
const numericText = /^\d+(\.\d+)?$/;
const maxLifetimeMs = 7 * 86_400_000; // Longer is of no use: a 401 ends the token anyway.

function lifetimeOf(expiresIn: unknown, fallbackMs: number): number {
  const isNumeric = typeof expiresIn === 'string' && numericText.test(expiresIn.trim());
  const seconds = Math.trunc(isNumeric ? Number(expiresIn) : typeof expiresIn === 'number' ? expiresIn : 0);
  return seconds >= 1 ? Math.min(seconds * 1_000, maxLifetimeMs) : fallbackMs;
}

/** A spelling of "bearer" that can be shown: it holds neither a token nor a secret. */
const shownType = /^$|^[A-Za-z]{0,10}[ _-]?bearer[ _-]?[A-Za-z]{0,10}$/i;

function typeDifference(tokenType: unknown, accessToken: string): string | null {
  if (tokenType === undefined || tokenType === null) return null;
  if (typeof tokenType !== 'string') return 'token_type is not a text';
  if (tokenType.toLowerCase() === 'bearer') return null;
  const isShown = shownType.test(tokenType) && (tokenType === '' || !accessToken.includes(tokenType));
  return isShown ? `token_type is "${tokenType}"` : 'token_type is not "bearer"';
}

/**
 * The requested values that the answer does not name. An answer without a scope means the requested one (RFC 6749
 * section 5.1). Services also send lists, commas and other cases.
 */
function scopeDifference(scope: unknown, wanted: Scope): string | null {
  const values = Array.isArray(scope) ? scope.join(' ') : scope;
  if (typeof values !== 'string' || wanted === '') return null;
  const granted = new Set(values.toLowerCase().split(/[\s+,;]+/));
  const missing = wanted.split(' ').filter((value) => !granted.has(value.toLowerCase()));
  return missing.length === 0 ? null : `scope lacks ${missing.join(' ')}`;
}

/**
 * Reads a success answer of the token endpoint. A token that came is used as a bearer token for all of the requested
 * scope: the service decides what it is good for. Throws `UnusableReply` NO_TOKEN.
 */
export function parseTokenReply(
  body: unknown,
  expected: { wantedScope: Scope; fallbackLifetimeMs: number },
): TokenReply {
  const accessToken = ownValue(body, 'access_token');
  if (typeof accessToken !== 'string' || !sendableToken.test(accessToken)) throw new UnusableReply('NO_TOKEN');
  const differences = [
    typeDifference(ownValue(body, 'token_type'), accessToken),
    scopeDifference(ownValue(body, 'scope'), expected.wantedScope),
  ].filter((one) => one !== null);
  const lifetimeMs = lifetimeOf(ownValue(body, 'expires_in'), expected.fallbackLifetimeMs);
  return { accessToken, lifetimeMs, differences };
}
