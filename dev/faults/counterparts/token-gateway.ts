import type { AddressInfo } from 'node:net';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { sandboxCredentials } from '../../sandbox/sandbox.js';

/** A client of a token endpoint. */
export interface OAuthClient {
  id: string;
  secret: string;
  /** Separated by blanks. */
  scope: string;
}

/** What the gateway saw: a token request, or a call with a token. */
export interface Seen {
  at: number;
  kind: 'token' | 'call';
  /** Undefined if the token is not active. */
  clientId: string | undefined;
  /** The status of the answer. */
  status: number;
  /** The token of a call. */
  token: string;
}

/** Stands before the service, as an API gateway does: it takes the tokens of another token endpoint. */
export interface TokenGateway {
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

export interface TokenGatewayOptions {
  /** Serves `/oauth/token` and `/introspect` (RFC 7662). */
  authUrl: string;
  /** The client as which the gateway asks about tokens. */
  self: OAuthClient;
  sandboxUrl: string;
}

interface Introspection {
  active: boolean;
  client_id?: string;
  scope?: string;
}

/** Passes token requests on, has each token judged by its issuer, and calls the sandbox with a token of the same scope. */
export async function startTokenGateway({ authUrl, self, sandboxUrl }: TokenGatewayOptions): Promise<TokenGateway> {
  const seen: Seen[] = [];
  const app = fastify({ forceCloseConnections: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));

  app.post('/oauth/token', async (request, reply) => {
    const entry = { at: Date.now(), kind: 'token', token: '' } as const;
    const clientId = new URLSearchParams(String(request.body)).get('client_id') ?? undefined;
    const status = await passOn(request, reply, authUrl, request.headers.authorization);
    seen.push({ ...entry, clientId, status });
    return reply;
  });
  app.all('/*', async (request, reply) => {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const { active, client_id: clientId, scope = '' } = await introspect(authUrl, self, token);
    const entry = { at: Date.now(), kind: 'call', token, clientId: active ? clientId : undefined } as const;
    if (!active) void reply.code(401).send({ code: 'INVALID_CREDENTIALS', message: 'no valid bearer token' });
    const status = active ? await passOn(request, reply, sandboxUrl, await sandboxToken(sandboxUrl, scope)) : 401;
    seen.push({ ...entry, status });
    return reply;
  });

  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen, close: () => app.close() };
}

async function passOn(request: FastifyRequest, reply: FastifyReply, to: string, authorization: string | undefined) {
  const { accept, 'content-type': type, 'x-request-id': requestId } = request.headers;
  const headers = Object.entries({ accept, 'content-type': type, 'x-request-id': requestId, authorization });
  const answer = await fetch(`${to}${request.url}`, {
    method: request.method,
    headers: headers.filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
    ...(typeof request.body === 'string' && { body: request.body }),
  }).catch(() => undefined);
  if (!answer) {
    void reply.code(502).send();
    return 502;
  }
  const body = await answer.text();
  void reply
    .code(answer.status)
    .header('content-type', answer.headers.get('content-type') ?? 'text/plain')
    .send(body);
  return answer.status;
}

/** An issuer that is away knows no token. */
async function introspect(authUrl: string, self: OAuthClient, token: string): Promise<Introspection> {
  const basic = Buffer.from(`${self.id}:${self.secret}`).toString('base64');
  const form = { method: 'POST', body: new URLSearchParams({ token }), headers: { authorization: `Basic ${basic}` } };
  const answer = await fetch(`${authUrl}/introspect`, form).catch(() => undefined);
  return answer?.ok ? ((await answer.json()) as Introspection) : { active: false };
}

async function sandboxToken(sandboxUrl: string, scope: string): Promise<string> {
  const { clientId, clientSecret } = sandboxCredentials.business;
  const fields = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' };
  const body = new URLSearchParams({ ...fields, ...(scope && { scope }) });
  const answer = await fetch(`${sandboxUrl}/oauth/token`, { method: 'POST', body });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return `Bearer ${token}`;
}
