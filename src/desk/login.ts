import * as oidc from 'openid-client';
import { isLoopbackAddress } from '../domain/web-address.js';
import type { DeskLogin, DeskRight } from '../settings/desk.js';
import { type Cookies, newViewer, type Viewer } from './access.js';
import type { Note } from './pages/layout.js';
import { unseen } from './readable.js';

// Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0 section 3.1, RFC 9700).

/** A sign-in under way, in a cookie of the browser that began it. */
interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  /** The page that the person wanted, and what it will say. */
  to: string;
  note?: Note | undefined;
}

/** How long a person may take at the provider. */
const pendingMs = 600_000;

/** Characters of a page to come back to; a longer one would not fit into the cookie. */
const longestPath = 1_000;

export const callbackPath = '/callback';

/** The provider, at which people sign in. Calls reject while it does not answer. */
export function createLogin(settings: DeskLogin, origin: () => string, cookies: Cookies) {
  const { issuer, clientId, clientSecret } = settings;
  let found: Promise<oidc.Configuration> | null = null;
  const provider = (): Promise<oidc.Configuration> => {
    const execute = [
      oidc.enableNonRepudiationChecks,
      ...(isLoopbackAddress(issuer) ? [oidc.allowInsecureRequests] : []),
    ];
    found ??= oidc
      .discovery(new URL(issuer), clientId, clientSecret, undefined, { execute, timeout: 5 })
      .catch((error: unknown) => {
        found = null;
        throw error;
      });
    return found;
  };
  return {
    /** Where to send the browser, and the cookie that it has to bring back. */
    async begin(to: string, note?: Note): Promise<{ url: string; cookie: string }> {
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const url = oidc.buildAuthorizationUrl(await provider(), {
        ...{ redirect_uri: `${origin()}${callbackPath}`, scope: 'openid profile email', state, nonce },
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      const pending: Pending = { state, nonce, verifier, note, to: isPath(to) && to.length <= longestPath ? to : '/' };
      return { url: url.href, cookie: await cookies.set('login', pending, pendingMs) };
    },
    /** Who came back. Rejects for an answer that this browser has not asked for, or that does not hold. */
    async finish(path: string, cookie: string | undefined): Promise<{ viewer: Viewer } & Pick<Pending, 'to' | 'note'>> {
      const pending = (await cookies.read(cookie, 'login')) as Pending | undefined;
      if (!pending) throw new Error('this browser has begun no sign-in, or took too long');
      const tokens = await oidc.authorizationCodeGrant(await provider(), new URL(path, origin()), {
        ...{ pkceCodeVerifier: pending.verifier, expectedState: pending.state, expectedNonce: pending.nonce },
        idTokenExpected: true,
      });
      const claims = tokens.claims() ?? {};
      return { viewer: newViewer(nameIn(claims), rightsIn(claims, settings)), to: pending.to, note: pending.note };
    },
    /** Where the provider ends its own session; undefined where it has no such page. */
    async end(): Promise<string | undefined> {
      const config = await provider();
      if (!config.serverMetadata().end_session_endpoint) return undefined;
      return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: origin() }).href;
    },
  };
}

/** The provider. */
export type Login = ReturnType<typeof createLogin>;

/** A path of this site; `//host` and `/\host` would lead to another one. */
const isPath = (text: string): boolean => /^\/(?![/\\])/.test(text);

/**
 * Only the subject is sure to stay the same and to belong to one person (OpenID Connect Core 1.0 section 5.7), so it stands first, and two never
 * become one. The name behind it is for readers: people can choose theirs at many providers.
 */
export function nameIn(claims: Readonly<Record<string, unknown>>): string {
  const subject = String(claims.sub).replace(unseen, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
  const given = [claims.preferred_username, claims.email, claims.name].find((one) => typeof one === 'string');
  const name = given?.replace(unseen, '').trim().slice(0, 60);
  return name === undefined || name === '' || name === subject ? subject : `${subject} (${name})`;
}

/** What the roles in the claims allow. Whoever may do anything may also look. */
export function rightsIn(claims: Readonly<Record<string, unknown>>, { rolesClaim, roles }: DeskLogin): DeskRight[] {
  const whole = claims[rolesClaim];
  const within = rolesClaim
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null)?.[name], claims);
  const held = [whole ?? within ?? []].flat();
  const rights = new Set(roles.filter(({ role }) => held.includes(role)).map(({ right }) => right));
  return rights.size > 0 ? [...rights.add('view')] : [];
}
