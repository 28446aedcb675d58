import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTokenGateway, type TokenGateway } from '../../counterparts/token-gateway.js';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';

const { businessId } = sandboxCredentials.business;
let sandbox: Sandbox;
let gateway: TokenGateway;
let issuer: Server;

/** Knows one token of each scope. */
const issued: Record<string, string> = { 'of-orders': 'order', 'of-money': 'finance' };

beforeAll(async () => {
  sandbox = await startSandbox();
  issuer = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const scope = issued[new URLSearchParams(body).get('token') ?? ''];
    const isAsked = request.url === '/introspect';
    const active = scope !== undefined;
    reply.writeHead(isAsked ? 200 : 401).end(JSON.stringify(isAsked ? { active, client_id: 'rides', scope } : {}));
  }).listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  const { port } = issuer.address() as AddressInfo;
  const self = { id: 'gateway', secret: 'x', scope: '' };
  gateway = await startTokenGateway({ authUrl: `http://127.0.0.1:${port}`, self, sandboxUrl: sandbox.url });
  sandbox.addOrder({ interface: 'business', orderId: '1', script: [{ status: 'Driving', afterMs: 0 }] });
});
afterAll(async () => {
  await gateway.close();
  await sandbox.close();
  issuer.close();
});

const read = async (token: string): Promise<number> => {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': 'application/json' };
  return (await fetch(`${gateway.url}/v1/orders/1?businessId=${businessId}`, { headers })).status;
};

it('only a token that its issuer calls active opens the service, and only with its own scope', async () => {
  expect(await read('of-orders')).toBe(200);
  expect(await read('of-money')).toBe(403);
  expect(await read('of-nobody')).toBe(401);
  delete issued['of-orders'];
  expect(await read('of-orders')).toBe(401);
  expect(gateway.seen.map(({ clientId, status }) => [clientId, status])).toEqual([
    ['rides', 200],
    ['rides', 403],
    [undefined, 401],
    [undefined, 401],
  ]);
});

it('counts a token request with its client and the answer of the issuer', async () => {
  const body = new URLSearchParams({ client_id: 'rides', client_secret: 'wrong' });
  expect((await fetch(`${gateway.url}/oauth/token`, { method: 'POST', body })).status).toBe(401);
  expect(gateway.seen.at(-1)).toMatchObject({ kind: 'token', clientId: 'rides', status: 401 });
});
