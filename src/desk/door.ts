import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { leftMs, monotonicMs } from '../clock.js';
import type { Logger } from '../observability/logging.js';
import { type DeskSettings, deskRights } from '../settings/desk.js';
import {
  type Cookies,
  findViewer,
  isOwnForm,
  may,
  newViewer,
  prolonged,
  sessionCookie,
  sessionMs,
  type Unsent,
  type Viewer,
} from './access.js';
import { type Fields, fieldsOf } from './acts.js';
import type { Live } from './live.js';
import { callbackPath, createLogin, type Login } from './login.js';
import { csrfField, type Note } from './pages/layout.js';
import { refuse, sendPage } from './refusals.js';

/*
 * Who gets in. A session lasts 15 minutes, and the desk remembers nothing of it: then the browser goes by the provider again, which mostly
 * needs no person. A form that comes too late is not lost: it travels with the sign-in, sealed in a cookie, and is shown again.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set before any page is made. */
    viewer: Viewer;
  }
}

export interface DoorOptions {
  settings: DeskSettings;
  live: Live;
  /** Gets ids alone. */
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The one local user, where nobody signs in. */
  localUser: string;
}

const warnEveryMs = 60_000;

/** Warns of what anybody can cause without a session: once a minute, with the number left out since. */
function createWarnings(logger: DoorOptions['logger'], message: string): (error: unknown) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  let leftOut = 0;
  return (err) => {
    leftOut += 1;
    if (monotonicMs() < quietUntil) return;
    quietUntil = monotonicMs() + warnEveryMs;
    logger.warn({ err, leftOut: leftOut - 1 }, message);
    leftOut = 0;
  };
}

/** Did the browser mark the form as that of another site? */
const isForeign = ({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): boolean =>
  (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) ||
  (site !== undefined && site !== 'same-origin');

/** Asked by a script, which cannot follow to the provider: it then loads the page anew. */
const isByScript = ({ url, headers }: FastifyRequest): boolean =>
  url === '/live' || headers['sec-fetch-dest'] === 'empty';

/** More would not fit into a cookie, beside the rest of a sign-in (RFC 6265 section 6.1: 4096 bytes). */
const mostUnsentBytes = 1_200;

/** What a form holds, without what belongs to the session that has ended; undefined if it is too much. */
function unsentOf({ url, body }: FastifyRequest): Unsent | undefined {
  const { csrf: _, ...fields } = (body ?? {}) as Fields;
  const unsent = { path: pathIn(url), fields };
  return Buffer.byteLength(JSON.stringify(unsent)) <= mostUnsentBytes ? unsent : undefined;
}

const pathIn = (url: string): string => url.split('?', 1)[0] ?? '';

/** The page on which the form of a path stands. */
export const pageOfForm = (url: string): string => pathIn(url).replace(/\/[a-z]+$/, '') || '/';

const tooLate = (unsent: Unsent | undefined): Note => ({
  isGood: false,
  text: `Your session had ended, so nothing was sent.${unsent ? ' What you typed is still here: check it, and press again.' : ''}`,
  ...(unsent ? { unsent } : {}),
});

const noteMs = 60_000;

/** The header with what the next page says once. */
export const noteCookie = (cookies: Cookies, note: Note): Promise<string> => cookies.set('note', note, noteMs);

/** Asks for a session before each page and button, and for a form of its own before each button. */
export function addDoor(app: FastifyInstance, options: DoorOptions, cookies: Cookies, origin: () => string): void {
  const { settings, logger, localUser } = options;
  const login = settings.login && createLogin(settings.login, origin, cookies);
  const warnOfProvider = createWarnings(logger, 'the provider of sign-ins does not answer');

  /** Lets the browser in, or sends it to the provider, and from there to the page. */
  async function signIn(login: Login, reply: FastifyReply, to: string, note?: Note): Promise<FastifyReply> {
    try {
      const { url, cookie } = await login.begin(to, note);
      return reply.header('set-cookie', cookie).redirect(url, 303);
    } catch (error) {
      warnOfProvider(error);
      return refuse(reply, 'noProvider');
    }
  }
  async function letLocalUserIn(reply: FastifyReply, before?: Viewer): Promise<Viewer> {
    const viewer = before ? prolonged(before) : newViewer(localUser, deskRights);
    reply.header('set-cookie', await sessionCookie(cookies, viewer));
    return viewer;
  }

  app.addHook('onRequest', async (request, reply) => {
    if (pathIn(request.url) === callbackPath) return;
    const found = await findViewer(cookies, request.headers.cookie);
    if (found) {
      const isOld = !login && !isByScript(request) && leftMs(found.until) < sessionMs / 2;
      request.viewer = isOld ? await letLocalUserIn(reply, found) : found;
      return may(found, 'view') || request.url === '/logout' ? undefined : refuseRoles(reply, found);
    }
    if (request.method === 'POST') return; // its form is read first
    if (isByScript(request)) return reply.code(401).send();
    if (login) return signIn(login, reply, request.url);
    request.viewer = await letLocalUserIn(reply);
  });
  app.addHook('preValidation', async (request, reply) => {
    if (request.method !== 'POST') return;
    if (isForeign(request.headers)) return refuse(reply, 'foreignForm');
    if (request.viewer)
      return isOwnForm(request.viewer, fieldsOf(request).csrf) ? undefined : refuse(reply, 'foreignForm');
    if (request.url === '/logout') return refuse(reply, 'signedOut');
    const note = tooLate(unsentOf(request));
    if (login) return signIn(login, reply, pageOfForm(request.url), note);
    await letLocalUserIn(reply);
    return reply.header('set-cookie', await noteCookie(cookies, note)).redirect(pageOfForm(request.url), 303);
  });
  addSignIn(app, options, cookies, login);
}

function refuseRoles(reply: FastifyReply, viewer: Viewer): FastifyReply {
  const out = html`<form method="post" action="/logout">!${csrfField(viewer)}<button>Sign out</button></form>`;
  return sendPage(
    reply,
    403,
    'No access',
    html`${viewer.who} has none of the roles that may see this page.</p>!${out}<p>`,
  );
}

/** The way back from the provider, and out. */
function addSignIn(app: FastifyInstance, { logger, live }: DoorOptions, cookies: Cookies, login: Login | null): void {
  const warnOfSignIn = createWarnings(logger, 'a sign-in failed');
  app.get(callbackPath, async (request, reply) => {
    if (!login) return reply.callNotFound();
    try {
      const { viewer, to, note } = await login.finish(request.url, request.headers.cookie);
      logger.info({ who: viewer.who, rights: viewer.rights }, 'signed in');
      reply.header('set-cookie', [await sessionCookie(cookies, viewer), cookies.clear('login')]);
      if (note) reply.header('set-cookie', await noteCookie(cookies, note));
      return reply.redirect(to, 303);
    } catch (error) {
      // Two pages of one browser that sign in side by side share a cookie: the second is let in by the first.
      if (await findViewer(cookies, request.headers.cookie)) return reply.redirect('/', 303);
      warnOfSignIn(error);
      return refuse(reply, 'notSignedIn');
    }
  });
  app.post('/logout', async (request, reply) => {
    logger.info({ who: request.viewer.who }, 'signed out');
    live.end(request.viewer.id);
    reply.header('set-cookie', cookies.clear('session'));
    const further = await login?.end().catch(() => undefined);
    const there = further ? html`, or <a href="${further}">sign out at the provider, too</a>` : '';
    return sendPage(reply, 200, 'Signed out', html`<a href="/">Sign in again</a>!${there}.`);
  });
  app.get('/live', (request, reply) => {
    reply.hijack();
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    reply.raw.writeHead(200, headers as Record<string, string>);
    live.listen(reply.raw, request.viewer);
  });
}
