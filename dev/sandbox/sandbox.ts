import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { createCommands, type SandboxCommands } from './control/commands.js';
import { addCommandRoutes } from './control/routes.js';
import { createSandboxState, type SandboxOptions } from './sandbox-state.js';
import { addServiceRoutes, refuser, unreadable } from './service-routes.js';

export { sandboxReferenceFields } from './ride/catalogue.js';
export type { SandboxOptions } from './sandbox-state.js';
export { sandboxCredentials } from './token/credentials.js';

/** A running stand-in of the service: both interfaces and the commands at one address. */
export interface Sandbox extends SandboxCommands {
  /** Base URL of both interfaces, without a trailing slash. */
  url: string;
  close(): Promise<void>;
}

const maxBodyBytes = 67_108_864; // a batch of 100,000 orders fits

/** Starts the stand-in of the ride-ordering service. Throws when the port is taken. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const state = createSandboxState(options);
  const app = fastify({
    bodyLimit: maxBodyBytes,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    frameworkErrors: (error, request, reply) => refuser(state)(request, reply, unreadable(error, request.url)),
    routerOptions: { maxParamLength: 1024 },
  });
  // Endpoints check the encoding, so they get every body unchanged.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  addServiceRoutes(app, state);
  addCommandRoutes(app, state);
  const host = options.host ?? '127.0.0.1';
  await app.listen({ host, port: options.port ?? 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const close = async () => {
    await state.deliveries.close();
    await app.close();
  };
  return { ...createCommands(state), url, close };
}
