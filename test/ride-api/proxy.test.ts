import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { effectOf } from '../../src/ride-api/errors.js';
import { type ApiRequest, createHttp, type HttpLimits } from '../../src/ride-api/http.js';
import { isExempt } from '../../src/ride-api/proxy.js';
import { createAuthority } from '../support/server/certificates.js';
import { type ProxyOptions, proxyUser, startConnectProxy } from '../support/server/connect-proxy.js';
import { failure } from './accounts.js';
import { answerJson, serve, serveBytes } from './loopback-server.js';

const files = createAuthority('service').server();
const tls = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
// A process learns of an authority only at its start: test/processes/networks.test.ts has one that does.
beforeAll(() => void vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0'));
afterAll(() => void vi.unstubAllEnvs());

const create: ApiRequest = { method: 'POST', url: 'https://service.example/v1/orders', headers: {}, body: '{}' };
const refused = (code: string, systemCode: unknown = expect.anything()) =>
  failure('RideApiUnreachable', code, { systemCode });

/** A service over TLS, and how many calls it was sent. */
async function serveTls(listener: RequestListener = (_, response) => answerJson(response, 201, {})) {
  let taken = 0;
  const counting: RequestListener = (...call) => {
    taken += 1;
    listener(...call);
  };
  return { taken: () => taken, port: Number(new URL(await serve(counting, tls)).port) };
}

/** A client whose settings name the proxy as a deployment does. */
function clientBehind(url: string, limits: Partial<HttpLimits> = {}, more: Record<string, string> = {}) {
  const http = createHttp({ ...limits, proxy: loadConfig({ HTTPS_PROXY: url, ...more }).proxy });
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

it.each([
  ['in clear', {}],
  ['over TLS', { tls }],
])('calls reach the service by name, with the password that the proxy wants, %s', async (_, options) => {
  const { taken, port } = await serveTls();
  const proxy = await proxyWith({ port, wantsPassword: true, ...options });
  const http = clientBehind(proxy.url);
  for (let call = 0; call < 8; call += 1) expect(await http.send(create)).toMatchObject({ status: 201 });
  expect(taken()).toBe(8);
  expect(new Set(proxy.asked)).toEqual(new Set(['service.example:443']));
  expect(proxy.asked.length).toBeLessThanOrEqual(2); // undici frees a connection a moment after its body was read
});

it('calls to addresses that NO_PROXY names, and to this machine, go without it', async () => {
  const { taken, port } = await serveTls();
  const proxy = await proxyWith({ manner: 403 });
  const http = clientBehind(proxy.url, {}, { no_proxy: 'other.example, 10.0.0.0/8 nowhere.invalid' });
  for (const host of ['127.0.0.1', 'localhost']) await http.send({ ...create, url: `https://${host}:${port}/` });
  expect(taken()).toBe(2);
  const error = await failed(http.send({ ...create, url: 'https://nowhere.invalid/' }));
  expect(error).toEqual(refused('NO_CONNECTION', 'ENOTFOUND'));
  expect(proxy.asked).toEqual([]);
});

describe('a create that the proxy keeps from the service', () => {
  const serving = async (scheme: string, said = '') =>
    `${scheme}://${await serveBytes((socket) => void socket.once('data', () => socket.write(said)))}`;
  it.each<[string, ProxyOptions | (() => Promise<string>), string, string]>([
    ['wants another password', { wantsPassword: true }, 'PROXY_407', 'the proxy answered 407'],
    ['knows no such user', { manner: 401 }, 'PROXY_401', 'check user and password'],
    ['does not allow the address', { manner: 403 }, 'PROXY_403', 'the proxy answered 403'],
    ['does not reach the service', { manner: 502 }, 'PROXY_502', 'the proxy answered 502'],
    ['answers with another success', { manner: 204 }, 'PROXY_204', 'the proxy answered 204'],
    ['hangs up', { manner: 'hangs up' }, 'PROXY_UND_ERR_SOCKET', 'HTTPS_PROXY'],
    ['says nothing', { manner: 'hangs' }, 'PROXY_UND_ERR_HEADERS_TIMEOUT', 'HTTPS_PROXY'],
    ['says nothing over TLS', () => serving('https'), 'PROXY_UND_ERR_CONNECT_TIMEOUT', 'HTTPS_PROXY'],
    ['is none', () => serving('http', 'SSH-2.0-OpenSSH\r\n'), 'PROXY_LOST', 'HTTPS_PROXY'],
    ['is not there', async () => 'http://127.0.0.1:1', 'PROXY_ECONNREFUSED', 'HTTPS_PROXY'],
    ['has no address', async () => 'http://nowhere.invalid:3128', 'PROXY_ENOTFOUND', 'HTTPS_PROXY'],
  ])('which %s, was not sent', async (_, options, systemCode, told) => {
    const url = typeof options === 'function' ? await options() : (await proxyWith(options)).origin;
    const connectMs = systemCode.endsWith('TIMEOUT') ? 100 : 10_000;
    const error = await failed(clientBehind(url.replace('://', '://me:secret-5c1e@'), { connectMs }).send(create));
    expect(error).toEqual(refused('NO_CONNECTION', systemCode));
    expect(error.message).toContain(told);
    expect(error.message).not.toContain('secret-5c1e');
    expect(effectOf(error, true)).toBe('no');
  });

  it('was not sent when the tunnel ends before TLS stands', async () => {
    const port = Number((await serveBytes((socket) => void socket.once('data', () => socket.destroy()))).split(':')[1]);
    const error = await failed(clientBehind((await proxyWith({ port })).url).send(create));
    expect(error).toEqual(refused('NO_CONNECTION'));
  });

  it('was not sent while it waited in line for a tunnel, and is not sent afterwards', async () => {
    const { taken, port } = await serveTls(() => {}); // never answers
    const http = clientBehind((await proxyWith({ port, tunnels: 1 })).url, { connections: 1, totalMs: 2_000 });
    const errors = await Promise.all([failed(http.send(create)), failed(http.send(create))]);
    expect(errors).toEqual([refused('TOTAL_TIMEOUT', null), refused('NO_CONNECTION', 'TOTAL_TIMEOUT')]);
    expect(errors.map((error) => effectOf(error, true))).toEqual(['unknown', 'no']);
    await http.close();
    expect(taken()).toBe(1);
  });
});

it.each<[string, RequestListener]>([
  ['before an answer', () => {}],
  ['within the answer', (_, response) => void response.writeHead(201, { 'content-length': 9 }).write('{"i')],
])('a proxy that dies %s leaves it open whether the create was carried out', async (_, listener) => {
  let cut = (): void => {};
  const { taken, port } = await serveTls((request, response) => {
    listener(request, response);
    setTimeout(() => cut(), 30);
  });
  const proxy = await proxyWith({ port });
  cut = proxy.cut;
  const error = await failed(clientBehind(proxy.url).send(create));
  expect(error).toEqual(refused('CONNECTION_LOST'));
  expect(effectOf(error, true)).toBe('unknown');
  expect(taken()).toBe(1);
});

it.each([
  [
    'api.Service.example',
    'service.example .service.example *.service.example API.service.example. service.example:443 *',
    'ervice.example x.api.service.example service.example:8443 *:8443 10.0.0.0/8',
  ],
  ['10.9.0.1', '10.9.0.1 10.9.0.1:443 10.0.0.0/8 *', '9.0.1 .1 11.0.0.0/8 10.0.0.0/99 10.0.0.0/x fd00::/8'],
  [
    '2001:db8::1',
    '2001:DB8:0::1 [2001:db8::1] [2001:db8::1]:443 2001:db8::/32 *',
    '[2001:db8::1]:8443 2001:db8::2 fd00::/8 0.0.0.0/0 :1',
  ],
])('NO_PROXY names %s by %s, and not by %s', (hostname, by, notBy) => {
  const exempting = `${by} ${notBy}`.split(' ').filter((entry) => isExempt({ hostname, port: '' }, [entry]));
  expect(exempting.join(' ')).toBe(by);
});

it('HTTPS_PROXY is read in both spellings, with and without a scheme, and shows no password', () => {
  const proxyOf = (env: Record<string, string>) => loadConfig(env).proxy;
  const user = [proxyUser.name, proxyUser.password];
  const given = `http://${user.map(encodeURIComponent).join(':')}@Proxy.example:3128`;
  const proxy = proxyOf({ https_proxy: given, HTTPS_PROXY: 'other.example', NO_PROXY: 'a.example b.example,' });
  expect(proxy).toEqual({ origin: 'http://proxy.example:3128', noProxy: ['a.example', 'b.example'] });
  expect(proxy?.authorization).toBe(`Basic ${Buffer.from(user.join(':')).toString('base64')}`);
  const plain = { origin: 'http://proxy.example:3128', authorization: null };
  expect(proxyOf({ https_proxy: '', HTTPS_PROXY: 'proxy.example:3128' })).toMatchObject(plain);
  expect(proxyOf({ HTTPS_PROXY: 'https://[2001:DB8::1]:3128/' })?.origin).toBe('https://[2001:db8::1]:3128');
  expect(proxyOf({ HTTPS_PROXY: '', NO_PROXY: '*' })).toBeNull();
});

it.each([
  ...['socks5://proxy.example', 'http://u:p%zz-5c1e@proxy.example', 'http://u:p/5c1e@proxy.example'],
  ...['http://u:%ff5c1e@proxy.example', 'http://', ':'],
])('HTTPS_PROXY as %s is refused by name', (value) => {
  expect(() => loadConfig({ HTTPS_PROXY: value })).toThrow(/^(?!.*5c1e).*HTTPS_PROXY: must be http:\/\/USER/s);
});
