import { hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { instantIn, leftMs } from '../clock.js';
import { createNamedKey, type KeyRing, type NamedKey } from '../sealing/key-ring.js';
import { createSealer, type Sealer } from '../sealing/sealer.js';
import type { DeskRight, DeskSettings } from '../settings/desk.js';

/** Who looks at a page, until when, and what that person may do. */
export interface Viewer {
  /** Names the session, so that its streams can be ended. */
  id: string;
  /** What Temporal and the log keep with each button that is pressed. */
  who: string;
  rights: readonly DeskRight[];
  /** In each form, so that no other site can send one. */
  csrf: string;
  /** Milliseconds since the epoch. */
  until: number;
  /** A form that came when the session before had ended, to be shown on this page once more. */
  unsent?: Unsent;
}

/** A form that was not carried out: where it was sent to, and what it held. */
export interface Unsent {
  path: string;
  fields: Readonly<Record<string, string | undefined>>;
}

/** May this person do that? */
export const may = ({ rights }: Pick<Viewer, 'rights'>, right: DeskRight): boolean => rights.includes(right);

/** Until the browser goes to the provider again, lost roles count, and a copy of the cookie is worth nothing after a sign-out: 15 minutes. */
export const sessionMs = 900_000;

const random = (): string => randomBytes(18).toString('base64url');

/** A session from now on: its forms stay valid. Only where no provider could be asked again. */
export const prolonged = (viewer: Viewer): Viewer => ({ ...viewer, until: instantIn(sessionMs) });

/** A person who has just signed in. Nothing of what the browser had before goes on. */
export const newViewer = (who: string, rights: readonly DeskRight[]): Viewer => ({
  ...{ id: random(), who, rights, csrf: random() },
  until: instantIn(sessionMs),
});

/** What the desk keeps in a browser: the sign-in, one that is under way, and what became of the last button. */
type CookieName = 'session' | 'login' | 'note';

type CookieSettings = Pick<DeskSettings, 'keys' | 'login' | 'url'>;

/**
 * Each provider, client and origin has keys of its own, so that a session of one desk never opens another. A desk without a sign-in gives every
 * right to whoever reaches it, so it never uses keys that another process has, too.
 */
function cookieKeys({ keys, login }: Omit<CookieSettings, 'url'>, origin: string): KeyRing {
  if (!keys || !login) return [createNamedKey('own', randomBytes(32))];
  const salt = JSON.stringify([login.issuer, login.clientId, origin]);
  const derived = ({ kid, key }: NamedKey) =>
    createNamedKey(kid, new Uint8Array(hkdfSync('sha256', key, salt, 'faretrail desk cookies', 32))); // RFC 5869
  const [first, ...rest] = keys;
  return [derived(first), ...rest.map(derived)];
}

/** Sealed cookies. They last as long as what they hold, and none can be read or made at another desk. `origin` is known once the desk listens. */
export function createCookies(settings: CookieSettings, origin: () => string) {
  const isSecure = settings.url?.startsWith('https:') ?? false;
  let made: Sealer | undefined;
  const sealer = (): Sealer => {
    made ??= createSealer(cookieKeys(settings, origin()));
    return made;
  };
  // With this prefix a browser takes the cookie only from this very host over TLS, and from no page of a neighbour.
  const named = (name: CookieName): string => `${isSecure ? '__Host-' : ''}desk-${name}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    /** The header that sets it. */
    set: async (name: CookieName, value: unknown, maxAgeMs: number): Promise<string> =>
      `${named(name)}=${await sealer().seal(JSON.stringify(value), `desk ${name}`)}; ${attributes}; Max-Age=${Math.ceil(maxAgeMs / 1_000)}`,
    clear: (name: CookieName): string => `${named(name)}=; ${attributes}; Max-Age=0`,
    /** Undefined for one that is absent, altered, or sealed under keys that are gone. */
    async read(header: string | undefined, name: CookieName): Promise<unknown> {
      const start = `${named(name)}=`;
      const found = header?.split(/; */).find((one) => one.startsWith(start));
      if (!found) return undefined;
      return await sealer()
        .unseal(found.slice(start.length), `desk ${name}`)
        .then(JSON.parse, () => undefined);
    },
  };
}

/** Sealed cookies. */
export type Cookies = ReturnType<typeof createCookies>;

/** Whose session the browser shows, if it goes on. */
export async function findViewer(cookies: Cookies, header: string | undefined): Promise<Viewer | undefined> {
  const viewer = (await cookies.read(header, 'session')) as Viewer | undefined;
  return viewer && leftMs(viewer.until) > 0 ? viewer : undefined;
}

/** The header that begins a session. */
export const sessionCookie = (cookies: Cookies, viewer: Viewer): Promise<string> =>
  cookies.set('session', viewer, leftMs(viewer.until));

/** Was the form made for this person? */
export function isOwnForm({ csrf }: Viewer, given: unknown): boolean {
  const [a, b] = [csrf, String(given)].map((text) => Buffer.from(text));
  return a !== undefined && b !== undefined && a.length === b.length && timingSafeEqual(a, b);
}
