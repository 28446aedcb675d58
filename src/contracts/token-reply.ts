import { type Scope, toScope } from '../domain/keys.js';
import { ownValue } from './json.js';
import { UnusableReply } from './unusable-reply.js';

/** What a token endpoint granted. */
export interface TokenReply {
  accessToken: string;
  /** The lifetime in the reply, in milliseconds, or the fallback. */
  lifetimeMs: number;
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

function isBearer(tokenType: unknown): boolean {
  if (tokenType === undefined || tokenType === null) return true;
  return typeof tokenType === 'string' && tokenType.toLowerCase() === 'bearer';
}

function grants(granted: string, wanted: Scope): boolean {
  const values = new Set(granted.split(' '));
  return wanted === '' || wanted.split(' ').every((value) => values.has(value));
}

/** Reads a success answer of the token endpoint. Throws `UnusableReply`: NO_TOKEN, WRONG_TOKEN_TYPE or SCOPE_NOT_GRANTED. */
export function parseTokenReply(
  body: unknown,
  expected: { wantedScope: Scope; fallbackLifetimeMs: number },
): TokenReply {
  const accessToken = ownValue(body, 'access_token');
  const scope = ownValue(body, 'scope');
  if (typeof accessToken !== 'string' || !sendableToken.test(accessToken)) throw new UnusableReply('NO_TOKEN');
  if (!isBearer(ownValue(body, 'token_type'))) throw new UnusableReply('WRONG_TOKEN_TYPE');
  // A reply that names no scope means the requested one (RFC 6749 section 5.1).
  if (typeof scope === 'string' && !grants(toScope(scope), expected.wantedScope))
    throw new UnusableReply('SCOPE_NOT_GRANTED');
  return { accessToken, lifetimeMs: lifetimeOf(ownValue(body, 'expires_in'), expected.fallbackLifetimeMs) };
}
