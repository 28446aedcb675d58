import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { html } from 'ghtml';
import { cannotListen, InvalidInput } from '../domain/errors.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import { createCookies, may, type Viewer } from './access.js';
import { acts, fieldsOf, press } from './acts.js';
import { addDoor, type DoorOptions, noteCookie, pageOfForm } from './door.js';
import { checkAddress, readForm } from './readable.js';
import { refuse, sendPage } from './refusals.js';
import { addPages, type PageParts } from './routes.js';

/** What a desk is made of. */
export type DeskOptions = PageParts & DoorOptions;

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
    frameworkErrors: (_error, _request, reply) => void refuse(reply as FastifyReply, 'unreadable'),
  });
  const routes: { method: string; url: string }[] = [];
  app.addHook('onRoute', ({ method, url }) => void routes.push({ method: String(method), url }));
  const ownOrigin = () =>
    settings.url ?? `http://${shownHost(settings.host)}:${(app.server.address() as AddressInfo).port}`;
  const host = settings.url ? new URL(settings.url).host : null;
  app.decorateRequest('viewer', null as unknown as Viewer);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (_: unknown, body: Buffer) => readForm(body),
  );
  guard(app, host);
  addStaticFiles(app);
  app.get('/healthz', (_request, reply) => reply.type('text/plain').send('ok'));
  addErrorPages(app, options);
  await app.register(async (inside) => addInside(inside, options, ownOrigin));
  try {
    await app.listen({ host: settings.host, port: settings.port });
  } catch (cause) {
    throw cannotListen('DeskPortUnusable', { host: 'FARETRAIL_DESK_HOST', port: 'FARETRAIL_DESK_PORT' }, cause);
  }
  return {
    origin: ownOrigin(),
    routes,
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
    checkAddress(request.url);
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

function addErrorPages(app: FastifyInstance, { logger }: DeskOptions): void {
  app.setNotFoundHandler((_request, reply) => refuse(reply, 'notFound'));
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    if (error instanceof InvalidInput) return sendPage(reply, 400, 'Not understood', html`${error.message}`);
    if (error.statusCode && error.statusCode < 500) return refuse(reply, 'unreadable');
    logger.error({ err: error }, 'a page could not be made');
    return refuse(reply, 'storeAway');
  });
}

/** Pages and buttons, for those who may. */
function addInside(app: FastifyInstance, options: DeskOptions, origin: () => string): void {
  const cookies = createCookies(options.settings, origin);
  addDoor(app, options, cookies, origin);
  for (const path of Object.keys(acts))
    app.post(path, async (request, reply) => {
      const { who } = request.viewer;
      const given = fieldsOf(request);
      if (!may(request.viewer, 'act')) return refuse(reply, 'mayOnlyLook');
      const { error, ...note } = await press(path, options.runs, who, given);
      const about = { account: given.account, id: given.id, took: note.isGood, ...(error ? { err: error } : {}) };
      options.logger.info({ who, act: path, ...about }, 'button');
      reply.header('set-cookie', await noteCookie(cookies, note));
      return reply.redirect(pageOfForm(request.url), 303);
    });
  addPages(app, options, cookies);
}
