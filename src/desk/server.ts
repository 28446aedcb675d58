import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { html } from 'ghtml';
import { cannotListen, InvalidInput } from '../domain/errors.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import type { Logger } from '../observability/logging.js';
import { type DeskSettings, deskRights } from '../settings/desk.js';
import { createCookies, createSessions, isOwnForm, may, newViewer, type Viewer } from './access.js';
import { acts, type Fields, press } from './acts.js';
import type { Live } from './live.js';
import { callbackPath, createLogin } from './login.js';
import { csrfField, plainPage } from './pages/layout.js';
import { addPages, type PageParts } from './routes.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set before any page is made. */
    viewer: Viewer;
  }
}

export interface DeskOptions extends PageParts {
  settings: DeskSettings;
  live: Live;
  /** Gets ids alone. */
  logger: Pick<Logger, 'info' | 'error'>;
  /** The one local user, where nobody signs in. */
  localUser: string;
}

const staticFiles = { 'desk.css': 'text/css; charset=utf-8', 'desk.js': 'text/javascript; charset=utf-8' } as const;

/** Starts to listen. Throws `FaretrailError` `DeskPortUnusable` when it cannot. */
export async function startDesk(options: DeskOptions) {
  const { settings, live } = options;
  const app = fastify({
    logger: false,
    bodyLimit: 16_384,
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
    throw cannotListen('DeskPortUnusable', { host: 'FARETRAIL_DESK_HOST', port: 'FARETRAIL_DESK_PORT' }, cause);
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

/** Why a page or a button is refused: HTTP status, title and text. */
const refusals = {
  notFound: [404, 'Not found', html`There is no such page. <a href="/">What needs somebody</a>`],
  unreadable: [400, 'Not understood', html`The request cannot be read.`],
  storeAway: [503, 'The store does not answer', html`Orders are followed all the same. Reload the page in a moment.`],
  signedOut: [401, 'Signed out', html`Nothing was done. <a href="/">Sign in</a> and try again.`],
  notSignedIn: [400, 'Not signed in', html`The sign-in did not come through. <a href="/">Try again</a>`],
  noProvider: [503, 'No sign-in', html`The provider of sign-ins does not answer. Reload the page in a moment.`],
  foreignForm: [403, 'Nothing was done', html`The form is of another sign-in. <a href="/">Go on</a> and try again.`],
  mayOnlyLook: [403, 'Nothing was done', html`You may look, and press no buttons.`],
} as const;

const sendPage = (reply: FastifyReply, status: number, title: string, content: string): FastifyReply =>
  reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(plainPage(title, html`<p>!${content}</p>`));

const refuse = (reply: FastifyReply, why: keyof typeof refusals, [status, title, text] = refusals[why]): FastifyReply =>
  sendPage(reply, status, title, text);

function addErrorPages(app: FastifyInstance, { logger }: DeskOptions): void {
  app.setNotFoundHandler((_request, reply) => refuse(reply, 'notFound'));
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    if (error instanceof InvalidInput) return sendPage(reply, 400, 'Not understood', html`${error.message}`);
    if (error.statusCode && error.statusCode < 500) return refuse(reply, 'unreadable');
    logger.error({ err: error }, 'a page could not be made');
    return refuse(reply, 'storeAway');
  });
}

const fieldsOf = ({ body, params }: FastifyRequest): Fields => ({ ...(body as Fields), ...(params as Fields) });

/** Says the browser that another site has sent the form? */
const isForeign = ({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): boolean =>
  (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) ||
  (site !== undefined && site !== 'same-origin');

/** Pages and buttons, for those who have signed in. */
function addSignIn(app: FastifyInstance, options: DeskOptions, ownOrigin: () => string): void {
  const { settings, live, logger, localUser } = options;
  const cookies = createCookies(settings, ownOrigin);
  const sessions = createSessions(cookies);
  const login = settings.login && createLogin(settings.login, ownOrigin, cookies);

  app.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith(`${callbackPath}?`)) return;
    const found = await sessions.find(request.headers.cookie);
    if (found) {
      request.viewer = found;
      if (may(found, 'view') || request.url === '/logout') return;
      const out = html`<form method="post" action="/logout">!${csrfField(found)}<button>Sign out</button></form>`;
      const why = html`${found.who} has none of the roles that may see this page.</p>!${out}<p>`;
      return sendPage(reply, 403, 'No access', why);
    }
    if (request.method !== 'GET') return refuse(reply, 'signedOut');
    if (request.url === '/live') return reply.code(401).send();
    if (!login) {
      request.viewer = newViewer(localUser, deskRights);
      reply.header('set-cookie', await sessions.begin(request.viewer));
      return;
    }
    const { url, cookie } = await login.begin(request.url).catch((error: unknown) => {
      logger.error({ err: error }, 'the provider of sign-ins does not answer');
      return { url: null, cookie: '' };
    });
    if (url === null) return refuse(reply, 'noProvider');
    return reply.header('set-cookie', cookie).redirect(url, 303);
  });
  app.addHook('preValidation', async (request, reply) => {
    const isOwn = () => !isForeign(request.headers) && isOwnForm(request.viewer, fieldsOf(request).csrf);
    if (request.method === 'POST' && !isOwn()) return refuse(reply, 'foreignForm');
  });

  app.get(callbackPath, async (request, reply) => {
    try {
      const { viewer, to } = (await login?.finish(request.url, request.headers.cookie)) ?? {};
      if (!viewer || !to) return reply.callNotFound();
      logger.info({ who: viewer.who, rights: viewer.rights }, 'signed in');
      reply.header('set-cookie', [await sessions.begin(viewer), cookies.clear('login')]);
      return reply.redirect(to, 303);
    } catch (error) {
      logger.error({ err: error }, 'a sign-in failed');
      return refuse(reply, 'notSignedIn');
    }
  });
  app.post('/logout', async (request, reply) => {
    logger.info({ who: request.viewer.who }, 'signed out');
    reply.header('set-cookie', sessions.end(request.viewer));
    const further = await login?.end().catch(() => undefined);
    const there = further ? html`, or <a href="${further}">sign out at the provider, too</a>` : '';
    return sendPage(reply, 200, 'Signed out', html`<a href="/">Sign in again</a>!${there}.`);
  });
  app.get('/live', (request, reply) => {
    reply.hijack();
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    reply.raw.writeHead(200, headers as Record<string, string>);
    live.listen(reply.raw, request.viewer.until);
  });
  for (const path of Object.keys(acts))
    app.post(path, async (request, reply) => {
      const { who } = request.viewer;
      const given = fieldsOf(request);
      if (!may(request.viewer, 'act')) return refuse(reply, 'mayOnlyLook');
      const { error, ...note } = await press(path, options.runs, who, given);
      const about = { account: given.account, id: given.id, took: note.isGood, ...(error ? { err: error } : {}) };
      logger.info({ who, act: path, ...about }, 'button');
      reply.header('set-cookie', await cookies.set('note', note, 60_000));
      return reply.redirect(request.url.replace(/\/[a-z]+$/, ''), 303); // to the page of the button
    });
  addPages(app, options, cookies);
}
