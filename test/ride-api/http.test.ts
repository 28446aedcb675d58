import { EventEmitter, getEventListeners, once } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { effectOf } from '../../src/ride-api/errors.js';
import { type ApiRequest, createHttp, type HttpLimits } from '../../src/ride-api/http.js';
import { createAuthority } from '../support/server/certificates.js';
import { failure } from './accounts.js';
import { type BrokenAnswer, brokenAnswers, startBreakingService } from './breaking-front.js';
import { answerJson, hangUp, httpClient, serve, serveBytes, textOf } from './loopback-server.js';

const get = (url: string): ApiRequest => ({ method: 'GET', url, headers: {} });
const unreachable = (code: string, systemCode?: string) =>
  failure('RideApiUnreachable', code, systemCode === undefined ? {} : { systemCode });

const lost = (systemCode?: string) => unreachable('CONNECTION_LOST', systemCode);
const unsent = (systemCode?: string) => unreachable('NO_CONNECTION', systemCode);

describe('an exchange', () => {
  it('sends path, query, headers and body as given and returns status, kept headers and JSON', async () => {
    const base = await serve(async (request, response) => {
      const seen = { method: request.method, url: request.url, raw: request.rawHeaders, body: await textOf(request) };
      answerJson(response, 201, seen, { 'Retry-After': '7', 'X-Request-ID': 'r1', 'Set-Cookie': 'c=1' });
    });
    const headers = { Authorization: 'Bearer t', 'Content-Type': 'application/json' };
    const reply = await httpClient().send({ method: 'POST', url: `${base}/a/%2Fx?b=c%20d`, headers, body: '{}' });
    expect(reply).toMatchObject({ status: 201, body: { method: 'POST', url: '/a/%2Fx?b=c%20d', body: '{}' } });
    expect(reply.headers).toEqual({ date: expect.any(String), 'retry-after': '7', 'x-request-id': 'r1' });
    const { raw } = reply.body as { raw: string[] };
    const names = raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    const given = ['authorization', 'content-type'];
    const added = ['accept', 'accept-encoding', 'connection', 'content-length', 'host', 'user-agent'];
    expect(names.sort()).toEqual([...given, ...added].sort());
  });

  it.each([
    ['a success', 200, '{}'],
    ['an error with a body', 503, '<html>'.repeat(1_000)],
  ])('keeps its connection for the next one after %s', async (_, status, body) => {
    const ports = new Set<unknown>();
    const base = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(status).end(body);
    });
    const http = httpClient();
    for (let exchange = 0; exchange < 8; exchange += 1) expect((await http.send(get(base))).status).toBe(status);
    expect(ports.size).toBeLessThanOrEqual(2); // undici frees a connection a moment after its body was read
  });

  it('sends one request, whatever the answer: the client repeats nothing and follows no redirect', async () => {
    const visited: unknown[] = [];
    const base = await serve((request, response) => {
      visited.push(request.url);
      if (request.url === '/lost') response.destroy();
      else response.writeHead(Number(request.url?.slice(1)), { Location: '/elsewhere' }).end();
    });
    const http = httpClient();
    for (const status of [503, 302]) expect((await http.send(get(`${base}/${status}`))).status).toBe(status);
    await expect(http.send(get(`${base}/lost`))).rejects.toThrow(lost());
    expect(visited).toEqual(['/503', '/302', '/lost']);
  });
});

const head = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n';
/** A host that accepts connections and never says a byte: over https its handshake never ends. */
const silent = (scheme: string) => async () => `${scheme}://${await serveBytes((socket) => void socket.resume())}`;
const says = (bytes: string) => async () =>
  `http://${await serveBytes((socket) => void socket.once('data', () => socket.write(bytes)))}`;
const breaksAfter = (bytes: string) => async () =>
  `http://${await serveBytes((socket) => void socket.once('data', () => socket.write(bytes, () => socket.destroy())))}`;
const withoutTls = async () => (await serve(() => {})).replace('http:', 'https:');
const [notHttp, tooLarge] = ['NOT_HTTP', 'TOO_LARGE'].map((code) => failure('RideApiGarbled', code));

describe('an exchange that fails', () => {
  it.each<[string, () => Promise<string>, Partial<HttpLimits>, unknown]>([
    ['that takes too long in total', silent('http'), { totalMs: 40 }, unreachable('TOTAL_TIMEOUT')],
    ['that has no connection by its deadline', silent('https'), { totalMs: 40 }, unsent('TOTAL_TIMEOUT')],
    ['whose connection takes too long', silent('https'), { connectMs: 40 }, unsent('UND_ERR_CONNECT_TIMEOUT')],
    ['at an address where nothing listens', async () => 'http://127.0.0.1:1', {}, unsent('ECONNREFUSED')],
    ['at a name that does not exist', async () => 'http://nowhere.invalid', {}, unsent('ENOTFOUND')],
    ['with a server without TLS', withoutTls, {}, unsent()],
    ['whose head does not come', silent('http'), { headersMs: 40 }, lost('UND_ERR_HEADERS_TIMEOUT')],
    ['whose body stops', says(`${head}{"half":`), { bodyMs: 40 }, lost('UND_ERR_BODY_TIMEOUT')],
    ['that breaks before an answer', breaksAfter(''), {}, lost()],
    ['that breaks within the head', breaksAfter('HTTP/1.1 200 OK\r\nContent-Le'), {}, lost()],
    ['that breaks within the body', breaksAfter(`${head}{"half":`), {}, lost()],
    ['answered in another protocol', says('SSH-2.0-OpenSSH\r\n'), {}, notHttp],
    ['whose head has no end', says(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`), {}, notHttp],
  ])('is named by its code when it is one %s', async (_, host, limits, error) => {
    await expect(httpClient(limits).send(get(await host()))).rejects.toThrow(error);
  });

  it('by its deadline has counted its wait for a free connection', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }); // both deadlines pass in one go, on a slow machine too
    onTestFinished(() => void vi.useRealTimers());
    const service = new EventEmitter();
    const arrived = once(service, 'request');
    const url = `http://${await serveBytes((socket) => void socket.once('data', () => service.emit('request')))}`;
    const http = httpClient({ connections: 1, totalMs: 80 });
    const exchanges = Promise.allSettled([http.send(get(url)), http.send(get(url))]);
    await arrived;
    vi.advanceTimersByTime(80);
    const both = await exchanges;
    const codes = both.map((result) => result.status === 'rejected' && result.reason.code);
    expect(codes).toEqual(['TOTAL_TIMEOUT', 'NO_CONNECTION']);
  });
});

it.each([
  ['drips for ever is ended by the deadline in total', ' ', { totalMs: 60 }, unreachable('TOTAL_TIMEOUT')],
  ['streams beyond the cap is cut off', 'x'.repeat(600), { maxReplyBytes: 1_000 }, tooLarge],
])('an answer that %s, and its connection ends', async (_, piece, limits, error) => {
  let hungUp: Promise<void> | undefined;
  const base = await serve((request, response) => {
    hungUp = hangUp(request);
    const more = setInterval(() => response.write(piece), 5);
    response.on('close', () => clearInterval(more));
  });
  await expect(httpClient(limits).send(get(base))).rejects.toThrow(error);
  await hungUp;
});

describe('a changing call over TLS', () => {
  const certificate = createAuthority('service').server();
  const post = (url: string): ApiRequest => ({ method: 'POST', url, headers: {}, body: '{}' });
  const untrusted = async () => (await startBreakingService(certificate, 'a reset')).url;
  const resetting = async () =>
    `https://${await serveBytes((socket) => void socket.once('data', () => socket.resetAndDestroy()))}`;

  it.each(Object.keys(brokenAnswers) as BrokenAnswer[])(
    'may have been carried out if it was, and answered by %s',
    async (name) => {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0'); // a process learns of an authority only at its start
      onTestFinished(() => void vi.unstubAllEnvs());
      const { url, taken } = await startBreakingService(certificate, name);
      await expect(httpClient().send(post(url))).rejects.toSatisfy((error) => effectOf(error) === 'unknown');
      expect(taken).toEqual(['{}']);
    },
  );

  it.each([
    ['whose certificate is unknown', untrusted, unsent()],
    ['that resets the handshake', resetting, unsent()],
  ])('to a server %s was not sent', async (_, host, error) => {
    const failed = await httpClient()
      .send(post(await host()))
      .catch((thrown: unknown) => thrown);
    expect(failed).toEqual(error);
    expect(effectOf(failed)).toBe('no');
  });
});

describe('a caller who aborts', () => {
  const reason = new Error('the activity was cancelled');

  it('gets the reason back before anything is sent', async () => {
    let requests = 0;
    const base = await serve((_, response) => {
      requests += 1;
      response.end();
    });
    await expect(httpClient().send(get(base), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(requests).toBe(0);
  });

  it.each([
    ['the answer is awaited', ''],
    ['the body comes', '{"half":'],
  ])('gets the reason back while %s, and the connection ends', async (_, piece) => {
    const caller = new AbortController();
    let hungUp: Promise<void> | undefined;
    const base = await serve((request, response) => {
      hungUp = hangUp(request);
      if (piece !== '') response.writeHead(200).write(piece);
      setTimeout(() => caller.abort(reason), 30);
    });
    await expect(httpClient().send(get(base), caller.signal)).rejects.toBe(reason);
    await hungUp;
  });

  it('gets the reason back at once while a connection is made', async () => {
    const caller = new AbortController();
    const url = await silent('https')();
    // After its deadline the wait would end with another error.
    const sent = httpClient({ connectMs: 600_000, totalMs: 600_000 }).send(get(url), caller.signal);
    caller.abort(reason);
    await expect(sent).rejects.toBe(reason);
  });

  it('leaves no listener behind on a signal that lives on', async () => {
    const base = await serve((_, response) => answerJson(response, 200, {}));
    const { signal } = new AbortController();
    await httpClient().send(get(base), signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

it('the client that is closed lets an exchange in flight end, can be repeated and makes later ones fail', async () => {
  const base = await serve((_, response) => void setTimeout(() => answerJson(response, 200, { done: true }), 30));
  const http = createHttp();
  const inFlight = http.send(get(base));
  await Promise.all([http.close(), http.close()]);
  expect((await inFlight).body).toEqual({ done: true });
  await http.close();
  await expect(http.send(get(base))).rejects.toThrow(unsent());
});
