import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { sentBy } from '../../src/ride-api/errors.js';
import { type ApiRequest, createHttp, type HttpLimits } from '../../src/ride-api/http.js';
import { isExempt } from '../../src/ride-api/proxy.js';
import { createAuthority } from '../support/server/certificates.js';
import { type ProxyOptions, proxyUser, startConnectProxy } from '../support/server/connect-proxy.js';
import { failure } from './accounts.js';
import { answerJson, serveBytes, textOf } from './loopback-server.js';

const files = createAuthority('service').server();
const tls = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
// A process learns of an authority only at its start: test/processes/networks.test.ts has one that does.
beforeAll(() => void vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0'));
afterAll(() => void vi.unstubAllEnvs());

const create: ApiRequest = { method: 'POST', url: 'https://service.example/v1/orders', headers: {}, body: '{}' };

/** A service over TLS that keeps what it was sent; by default it takes everything. */
async function serveTls(listener: RequestListener = (_, response) => answerJson(response, 201, { id: 'order-1' })) {
  const taken: string[] = [];
  const server = createServer(tls, async (request, response) => {
    taken.push(`${request.headers.host} ${await textOf(request)}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { taken, port: (server.address() as AddressInfo).port };
}

/** A client whose settings name the proxy as a deployment does. */
function clientBehind(url: string, limits: Partial<HttpLimits> = {}, more: Record<string, string> = {}) {
  const { proxy } = loadConfig({ HTTPS_PROXY: url, ...more });
  const http = createHttp({ ...limits, proxy });
  onTestFinished(() => void http.close());
  return http;
}

async function proxyWith(options: ProxyOptions) {
  const proxy = await startConnectProxy(options);
  onTestFinished(() => proxy.close());
  return proxy;
}

const failed = (sent: Promise<unknown>): Promise<Error> =>
  sent.then(
    () => expect.fail('it was answered'),
    (error: unknown) => error as Error,
  );

describe('calls through a proxy', () => {
  it.each([
    ['in clear', {}],
    ['over TLS', { tls }],
  ])('reach the service by name, with the password that the proxy wants, %s', async (_, options) => {
    // The time to connect passes while a tunnel is in use.
    const { taken, port } = await serveTls(
      (_request, response) => void setTimeout(() => answerJson(response, 201, {}), 150),
    );
    const proxy = await proxyWith({ port, wantsPassword: true, ...options });
    const http = clientBehind(proxy.url, { connectMs: 900 });
    for (let call = 0; call < 8; call += 1) expect(await http.send(create)).toMatchObject({ status: 201 });
    expect(taken).toEqual(Array(8).fill('service.example {}'));
    expect(new Set(proxy.asked)).toEqual(new Set(['service.example:443']));
    expect(proxy.asked.length).toBeLessThanOrEqual(2); // undici frees a connection a moment after its body was read
  });

  it('keep to addresses that NO_PROXY names, and to this machine, without it', async () => {
    const { taken, port } = await serveTls();
    const proxy = await proxyWith({ manner: 403 });
    const http = clientBehind(proxy.url, {}, { no_proxy: 'other.example, 127.0.0.0/8' });
    await http.send({ ...create, url: `https://127.0.0.1:${port}/` });
    await http.send({ ...create, url: `https://localhost:${port}/` });
    expect(taken).toHaveLength(2);
    expect(proxy.asked).toEqual([]);
  });
});

describe('a create that the proxy keeps from the service', () => {
  const hanging = async () => `http://${await serveBytes((socket) => void socket.resume())}`;
  it.each<[string, ProxyOptions | (() => Promise<string>), string, string]>([
    ['wants another password', { wantsPassword: true }, 'PROXY_407', 'the proxy answered 407'],
    ['does not allow the address', { manner: 403 }, 'PROXY_403', 'the proxy answered 403'],
    ['does not reach the service', { manner: 502 }, 'PROXY_502', 'the proxy answered 502'],
    ['answers with another success', { manner: 204 }, 'PROXY_204', 'the proxy answered 204'],
    ['hangs up', { manner: 'hangs up' }, 'PROXY_ECONNRESET', 'HTTPS_PROXY'],
    ['says nothing', { manner: 'hangs' }, 'PROXY_TIMEOUT', 'HTTPS_PROXY'],
    ['is no proxy', hanging, 'PROXY_TIMEOUT', 'HTTPS_PROXY'],
    ['speaks another protocol', sshServer, 'PROXY_HPE_INVALID_CONSTANT', 'HTTPS_PROXY'],
    ['is not there', async () => 'http://127.0.0.1:1', 'PROXY_ECONNREFUSED', 'HTTPS_PROXY'],
    ['has no address', async () => 'http://nowhere.invalid:3128', 'PROXY_ENOTFOUND', 'HTTPS_PROXY'],
    ['should speak TLS', async () => (await hanging()).replace('http', 'https'), 'PROXY_TIMEOUT', 'HTTPS_PROXY'],
  ])('which %s, was not sent', async (_, options, systemCode, told) => {
    const proxy = typeof options === 'function' ? null : await proxyWith(options);
    const url = typeof options === 'function' ? await options() : (proxy?.origin ?? '');
    const error = await failed(clientBehind(url.replace('://', '://me:secret-5c1e@'), { connectMs: 100 }).send(create));
    expect(error).toEqual(failure('RideApiUnreachable', 'NO_CONNECTION', { systemCode }));
    expect(error.message).toContain(told);
    expect(error.message).not.toContain('secret-5c1e');
    expect(sentBy(error, true)).toBe('no');
  });

  it('was not sent when the service or the proxy ends the tunnel before TLS stands', async () => {
    const port = Number((await serveBytes((socket) => void socket.once('data', () => socket.destroy()))).split(':')[1]);
    const proxy = await proxyWith({ port });
    const error = await failed(clientBehind(proxy.url).send(create));
    expect(error).toEqual(failure('RideApiUnreachable', 'NO_CONNECTION'));
  });

  it('was not sent while it waited in line for a tunnel, and is not sent afterwards', async () => {
    const { taken, port } = await serveTls(() => {}); // takes one call, and never answers it
    const proxy = await proxyWith({ port });
    const http = clientBehind(proxy.url, { connections: 1, totalMs: 400 });
    const [first, second] = await Promise.all([failed(http.send(create)), failed(http.send(create))]);
    expect(first).toEqual(failure('RideApiUnreachable', 'TOTAL_TIMEOUT'));
    expect(second).toEqual(failure('RideApiUnreachable', 'NO_CONNECTION', { systemCode: 'TOTAL_TIMEOUT' }));
    expect([first, second].map((error) => sentBy(error, true))).toEqual(['unknown', 'no']);
    await http.close();
    expect(taken).toHaveLength(1);
  });
});

describe('a proxy that dies after the tunnel stands', () => {
  it.each([
    ['before an answer', () => {}],
    ['within the answer', (_, response) => void response.writeHead(201, { 'content-length': 9 }).write('{"i')],
  ] as [string, RequestListener][])('%s leaves it open whether the create was carried out', async (_, listener) => {
    let cut = (): void => {};
    const { taken, port } = await serveTls((request, response) => {
      listener(request, response);
      setTimeout(() => cut(), 30);
    });
    const proxy = await proxyWith({ port });
    cut = proxy.cut;
    const error = await failed(clientBehind(proxy.url).send(create));
    expect(error).toEqual(failure('RideApiUnreachable', 'CONNECTION_LOST'));
    expect(sentBy(error, true)).toBe('unknown');
    expect(taken).toHaveLength(1);
  });

  it('between two calls costs the next one nothing', async () => {
    const { taken, port } = await serveTls();
    const proxy = await proxyWith({ port });
    const http = clientBehind(proxy.url);
    await http.send(create);
    proxy.cut();
    await vi.waitFor(async () => expect(await http.send(create)).toMatchObject({ status: 201 }));
    expect(proxy.asked).toHaveLength(2);
    expect(taken).toHaveLength(2);
  });
});

async function sshServer(): Promise<string> {
  return `http://${await serveBytes((socket) => void socket.once('data', () => socket.write('SSH-2.0-OpenSSH\r\n')))}`;
}

it.each([
  [
    'api.Service.example',
    ['service.example', '.service.example', '*.service.example', 'API.service.example.', 'service.example:443', '*'],
    ['ervice.example', 'x.api.service.example', 'service.example:8443', '*:8443', '10.0.0.0/8', ''],
  ],
  [
    '10.9.0.1',
    ['10.9.0.1', '10.9.0.1:443', '10.0.0.0/8', '*'],
    ['9.0.1', '.1', '11.0.0.0/8', '10.0.0.0/99', 'fd00::/8'],
  ],
  [
    '2001:db8::1',
    ['2001:DB8:0::1', '[2001:db8::1]', '[2001:db8::1]:443', '2001:db8::/32', '*'],
    ['[2001:db8::1]:8443', '2001:db8::2', 'fd00::/8', '0.0.0.0/0', ':1'],
  ],
])('NO_PROXY names %s by %j, and not by %j', (hostname, by, notBy) => {
  const exempting = [...by, ...notBy].filter((entry) => isExempt({ hostname, port: '' }, [entry]));
  expect(exempting).toEqual(by);
});

describe('HTTPS_PROXY', () => {
  const { name, password } = proxyUser;
  const shown = (env: Record<string, string>) => loadConfig(env).proxy;

  it('is read in both spellings, with and without a scheme, and shows no password', () => {
    const given = `http://${encodeURIComponent(name)}:${encodeURIComponent(password)}@Proxy.example:3128`;
    const config = loadConfig({
      https_proxy: given,
      HTTPS_PROXY: 'http://other.example',
      NO_PROXY: 'a.example b.example,',
    });
    expect(config.proxy).toEqual({ origin: 'http://proxy.example:3128', noProxy: ['a.example', 'b.example'] });
    expect(Buffer.from(config.proxy?.authorization?.split(' ')[1] ?? '', 'base64').toString()).toBe(
      `${name}:${password}`,
    );
    expect(shown({ HTTPS_PROXY: 'proxy.example:3128' })).toMatchObject({
      origin: 'http://proxy.example:3128',
      authorization: null,
    });
    expect(shown({ HTTPS_PROXY: 'https://[2001:db8::1]:3128/' })).toMatchObject({
      origin: 'https://[2001:db8::1]:3128',
    });
    expect(shown({ HTTPS_PROXY: '', NO_PROXY: '*' })).toBeNull();
  });

  it.each([
    'socks5://proxy.example',
    'http://u:p%zz-5c1e@proxy.example',
    'http://u:p/5c1e@proxy.example',
    'http://',
    ':',
  ])('as %s is refused by name', (value) => {
    expect(() => loadConfig({ HTTPS_PROXY: value })).toThrow(/HTTPS_PROXY: must be http:\/\/USER/);
    expect(() => loadConfig({ HTTPS_PROXY: value })).not.toThrow(/5c1e/);
  });
});
