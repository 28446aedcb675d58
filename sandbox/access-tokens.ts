import { randomBytes } from 'node:crypto';
import type { RideInterface } from '../src/domain/account.js';

/** What the sandbox knows about a token it issued; its text is only the key. `expiresAt` is in epoch milliseconds. */
export interface IssuedToken {
  tokenNumber: number;
  interface: RideInterface;
  clientId: string;
  scope: string;
  expiresAt: number;
  revoked: boolean;
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

const segment = (content: Buffer | string): string => Buffer.from(content).toString('base64url');

/** JWT-shaped, but opaque: a client that reads claims in it learns nothing. */
function newTokenText(): string {
  const header = segment(JSON.stringify({ alg: 'RS256', typ: 'JWT' }));
  const payload = segment(JSON.stringify({ jti: randomBytes(24).toString('hex') }));
  return `${header}.${payload}.${segment(randomBytes(256))}`;
}

/** All tokens ever issued by one sandbox; an expired one stays known, so that it can be told from an invented one. */
export function createAccessTokens() {
  const byText = new Map<string, IssuedToken>();
  return {
    issue(token: Pick<IssuedToken, 'interface' | 'clientId' | 'scope'>, lifetimeSeconds: number) {
      const text = newTokenText();
      const expiresAt = Date.now() + lifetimeSeconds * 1000;
      const issued: IssuedToken = { ...token, tokenNumber: byText.size + 1, expiresAt, revoked: false };
      byText.set(text, issued);
      return { text, tokenNumber: issued.tokenNumber };
    },
    /** The token of an `Authorization` header; it may be expired or revoked. The header must say `Bearer` (given). */
    ofHeader(authorization: string | undefined): IssuedToken | undefined {
      return authorization?.startsWith('Bearer ') ? byText.get(authorization.slice('Bearer '.length)) : undefined;
    },
    /** Ends the tokens of one client, or all. Returns how many it ended. */
    revoke(clientId?: string): number {
      const hit = [...byText.values()].filter(
        (token) => !token.revoked && (clientId ?? token.clientId) === token.clientId,
      );
      for (const token of hit) token.revoked = true;
      return hit.length;
    },
    texts: (): string[] => [...byText.keys()],
  };
}
