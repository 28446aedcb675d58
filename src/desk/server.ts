import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { html } from 'ghtml';
import { cannotListen, InvalidInput } from '../domain/errors.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import type { DeskSettings } from '../settings/desk.js';
import { deskRights } from '../settings/desk.js';
import { createCookies, createSessions, isOwnForm, may, newViewer, type Viewer } from './access.js';
import { acts, type Fields, press } from './acts.js';
import type { Live } from './live.js';
import { callbackPath, createLogin } from './login.js';
import { csrfField, type Note, plainPage } from './pages/layout.js';
import { addPages, type PageParts } from './routes.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set before any page is made. */
    viewer: Viewer;
  }
}

/** What the log keeps of the desk: ids alone. */
export interface DeskLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface DeskOptions extends PageParts {
  settings: DeskSettings;
  live: Live;
  logger: DeskLog;
  /** The one local user, where nobody signs in. */
  localUser: string;
}

/** A desk that listens. */
export interface Desk {
  origin: string;
  close(): Promise<void>;
}

const maxFormBytes = 16_384;
const noteMs = 60_000;
const staticFiles = { 'desk.css': 'text/css; charset=utf-8', 'desk.js': 'text/javascript; charset=utf-8' } as const;

/** Starts to listen. Throws `FaretrailError` `DeskPortUnusable` when it cannot. */
export async function startDesk(options: DeskOptions): Promise<Desk> {
  const { settings, live } = options;
  const app = fastify({
    logger: false,
    bodyLimit: maxFormBytes,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 512 },
    requestTimeout: 30_000,
  });
  const ownOrigin = () =>
    settings.url ?? `http://${shownHost(settings.host)}:${(app.server.address() as AddressInfo).port}`;
  const host = settings.url ? new URL(settings.url).host : null;
  app.decorateRequest('viewer', null as unknown as Viewer);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );
  guard(app, host);
  addStaticFiles(app);
  app.get('/healthz', (_request, reply) => reply.type('text/plain').send('ok'));
  addErrorPages(app, options);
  await app.register(async (inside) => addSignIn(inside, options, ownOrigin));
  try {
    await app.listen({ host: settings.host, port: settings.port });
  } catch (cause) {
    const where = `${settings.host}, port ${settings.port}`;
    throw cannotListen('DeskPortUnusable', 'FARETRAIL_DESK_PORT', where, cause);
  }
  return {
    origin: ownOrigin(),
    async close() {
      live.close();
      await app.close();
    },
  };
}

const shownHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Headers of each answer, and the hosts under which the desk answers: another name that leads here is that of another site (DNS rebinding). */
function guard(app: FastifyInstance, host: string | null): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      // Forms lead to this site alone; the sign-out also leads to the provider, by a link.
      'content-security-policy':
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
      ...(host && !isLoopbackAddress(`https://${host}`) ? { 'strict-transport-security': 'max-age=31536000' } : {}),
    });
    if (request.url === '/healthz') return; // a probe uses the address of the pod
    const asked = request.headers.host ?? '';
    const isOwn = asked === host || (URL.canParse(`http://${asked}`) && isLoopbackAddress(`http://${asked}`));
    if (!isOwn)
      return reply.code(421).type('text/plain').send('This is not the address of the desk: see FARETRAIL_DESK_URL.\n');
  });
}

function addStaticFiles(app: FastifyInstance): void {
  for (const [name, type] of Object.entries(staticFiles)) {
    const content = readFileSync(new URL(`static/${name}`, import.meta.url));
    app.get(`/static/${name}`, (_request, reply) =>
      reply.type(type).header('cache-control', 'max-age=300').send(content),
    );
  }
}

const sendPage = (reply: FastifyReply, status: number, title: string, content: string): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').send(plainPage(title, content));

function addErrorPages(app: FastifyInstance, { logger }: DeskOptions): void {
  app.setNotFoundHandler((_request, reply) =>
    sendPage(reply, 404, 'Not found', html`<p>There is no such page. <a href="/">What needs somebody</a></p>`),
  );
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    if (error instanceof InvalidInput) return sendPage(reply, 400, 'Not understood', html`<p>${error.message}</p>`);
    if (error.statusCode && error.statusCode < 500)
      return sendPage(reply, error.statusCode, 'Not understood', html`<p>The request cannot be read.</p>`);
    logger.error({ err: error }, 'a page could not be made');
    return sendPage(
      reply,
      503,
      'The store does not answer',
      html`<p>Orders are followed all the same. Reload the page in a moment.</p>`,
    );
  });
}

const fieldsOf = (request: FastifyRequest): Fields => ({
  ...(request.body as Fields | undefined),
  ...(request.params as Fields),
});

/** Says the browser that another site has sent the form? */
const isForeign = ({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): boolean =>
  (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) ||
  (site !== undefined && site !== 'same-origin');

/** Pages and buttons, for those who have signed in. */
function addSignIn(app: FastifyInstance, options: DeskOptions, ownOrigin: () => string): void {
  const { settings, live, logger, localUser } = options;
  const isSecure = settings.url?.startsWith('https:') ?? false;
  const cookies = createCookies(settings, isSecure);
  const sessions = createSessions(cookies);
  let made: ReturnType<typeof createLogin> | null = null;
  const login = () => {
    made ??= settings.login && createLogin(settings.login, ownOrigin(), cookies);
    return made;
  };

  app.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith(`${callbackPath}?`)) return;
    const found = await sessions.find(request.headers.cookie);
    if (found) {
      request.viewer = found;
      if (may(found, 'view') || request.url === '/logout') return;
      return sendPage(
        reply,
        403,
        'No access',
        html`<p>${found.who} has none of the roles that may see this page.</p>
<form method="post" action="/logout">!${csrfField(found)}<button>Sign out</button></form>`,
      );
    }
    if (request.method !== 'GET')
      return sendPage(reply, 401, 'Signed out', html`<p>Nothing was done. <a href="/">Sign in</a> and try again.</p>`);
    if (request.url === '/live') return reply.code(401).send();
    const provider = login();
    if (!provider) {
      request.viewer = newViewer(localUser, deskRights);
      reply.header('set-cookie', await sessions.begin(request.viewer));
      return;
    }
    const { url, cookie } = await provider.begin(request.url).catch((error: unknown) => {
      logger.error({ err: error }, 'the provider of sign-ins does not answer');
      return { url: null, cookie: '' };
    });
    if (url === null)
      return sendPage(
        reply,
        503,
        'No sign-in',
        html`<p>The provider of sign-ins does not answer. Reload the page in a moment.</p>`,
      );
    return reply.header('set-cookie', cookie).redirect(url, 303);
  });
  app.addHook('preValidation', async (request, reply) => {
    if (request.method !== 'POST') return;
    if (isForeign(request.headers) || !isOwnForm(request.viewer, fieldsOf(request).csrf))
      return sendPage(
        reply,
        403,
        'Nothing was done',
        html`<p>The form was not made for you, or is of an earlier sign-in. <a href="/">Go on</a> and try again.</p>`,
      );
  });

  app.get(callbackPath, async (request, reply) => {
    try {
      const { viewer, to } = (await login()?.finish(request.url, request.headers.cookie)) ?? {};
      if (!viewer || !to) return reply.callNotFound();
      logger.info({ who: viewer.who, rights: viewer.rights }, 'signed in');
      reply.header('set-cookie', [await sessions.begin(viewer), cookies.clear('login')]);
      return reply.redirect(to, 303);
    } catch (error) {
      logger.error({ err: error }, 'a sign-in failed');
      return sendPage(
        reply,
        400,
        'Not signed in',
        html`<p>The sign-in did not come through. <a href="/">Try again</a></p>`,
      );
    }
  });
  app.post('/logout', async (request, reply) => {
    logger.info({ who: request.viewer.who }, 'signed out');
    reply.header('set-cookie', sessions.end(request.viewer));
    const further = await login()
      ?.end()
      .catch(() => undefined);
    return sendPage(
      reply,
      200,
      'Signed out',
      html`<p><a href="/">Sign in again</a>!${further ? html`, or <a href="${further}">sign out at the provider, too</a>` : ''}.</p>`,
    );
  });
  app.get('/live', (request, reply) => {
    reply.hijack();
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    reply.raw.writeHead(200, headers as Record<string, string>);
    if (!live.listen(reply.raw, request.viewer.until)) reply.raw.end();
  });
  for (const act of acts)
    app.post(act.path, async (request, reply) => {
      const { viewer } = request;
      const given = fieldsOf(request);
      if (!may(viewer, 'act'))
        return sendPage(reply, 403, 'Nothing was done', html`<p>${viewer.who} may look, and press no buttons.</p>`);
      const { error, ...note } = await press(act, options.runs, viewer.who, given);
      const about = { account: given.account, id: given.id };
      logger.info(
        { who: viewer.who, act: act.path, ...about, took: note.isGood, ...(error ? { err: error } : {}) },
        'button',
      );
      reply.header('set-cookie', await cookies.set('note', note, noteMs));
      return reply.redirect(act.back(given), 303);
    });
  addPages(app, options, {
    async readNote(request, reply) {
      const note = (await cookies.read(request.headers.cookie, 'note')) as Note | undefined;
      if (note) reply.header('set-cookie', cookies.clear('note'));
      return note;
    },
    send: (reply, content) =>
      reply.type('text/html; charset=utf-8').send(typeof content === 'string' ? content : Readable.from(content)),
  });
}
