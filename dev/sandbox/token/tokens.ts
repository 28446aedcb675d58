import { randomBytes } from 'node:crypto';
import type { RideInterface } from '../../../src/domain/account.js';

/** What the sandbox knows of a token that it issued. `expiresAt` is in epoch milliseconds. */
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

/** Has the form of a JWT, but holds no claims for a client. */
function newTokenText(): string {
  const header = segment(JSON.stringify({ alg: 'RS256', typ: 'JWT' }));
  const payload = segment(JSON.stringify({ jti: randomBytes(24).toString('hex') }));
  return `${header}.${payload}.${segment(randomBytes(256))}`;
}

/** All tokens that one sandbox has issued. It keeps expired tokens, to tell them from invented ones. */
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
    /** The token of an `Authorization` header, expired and revoked ones included. The scheme must be `Bearer` (given). */
    ofHeader(authorization: string | undefined): IssuedToken | undefined {
      return authorization?.startsWith('Bearer ') ? byText.get(authorization.slice('Bearer '.length)) : undefined;
    },
    /** Ends the tokens of one client, or all. Returns their number. */
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
