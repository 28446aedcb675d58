import { shownText } from '../domain/json.js';
import { type Scope, toScope } from '../domain/keys.js';
import { ownValue } from './json.js';
import { UnusableReply } from './unusable-reply.js';

/** What a token endpoint granted. */
export interface TokenReply {
  accessToken: string;
  /** As the reply says it, in milliseconds. */
  lifetimeMs: number;
  /** Scope values in our order, empty for the unscoped token; null when the reply does not say, which means as asked. */
  grantedScope: string | null;
}

/** What the reader of a token reply has to know of the request. */
export interface TokenExpectation {
  wantedScope: Scope;
  fallbackLifetimeMs: number;
}

// VSCHAR without the blank (RFC 6749 A.12): anything else cannot stand in an Authorization header.
const sendableToken = /^[\x21-\x7e]{1,16384}$/;
const numericText = /^\d+(\.\d+)?$/;
const maxLifetimeMs = 7 * 86_400_000; // A longer claim has no use: a 401 ends the token anyway.
const maxScopeLength = 1000;

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

/** Reads a success of the token endpoint with the tolerance that token endpoints need.
 *  Throws `UnusableReply`: NO_TOKEN, WRONG_TOKEN_TYPE or SCOPE_NOT_GRANTED. */
export function parseTokenReply(body: unknown, expected: TokenExpectation): TokenReply {
  const accessToken = ownValue(body, 'access_token');
  const scope = ownValue(body, 'scope');
  if (typeof accessToken !== 'string' || !sendableToken.test(accessToken)) throw new UnusableReply('NO_TOKEN');
  if (!isBearer(ownValue(body, 'token_type'))) throw new UnusableReply('WRONG_TOKEN_TYPE');
  const granted = typeof scope === 'string' ? toScope(scope) : null;
  if (granted !== null && !grants(granted, expected.wantedScope)) throw new UnusableReply('SCOPE_NOT_GRANTED');
  return {
    accessToken,
    lifetimeMs: lifetimeOf(ownValue(body, 'expires_in'), expected.fallbackLifetimeMs),
    grantedScope: granted === null ? null : shownText(granted.slice(0, maxScopeLength)),
  };
}
