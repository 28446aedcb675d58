import { FormData } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ApiRequest, createHttp, type HttpLimits } from '../../src/ride-api/http.js';
import { failure } from './accounts.js';
import { answerJson, hangUp, serve, serveBytes, textOf } from './loopback-server.js';

function client(limits: Partial<HttpLimits> = {}) {
  const http = createHttp(limits);
  onTestFinished(() => http.close());
  return http;
}

const get = (url: string): ApiRequest => ({ method: 'GET', url, headers: {} });

describe('an exchange', () => {
  it('sends path, query, headers and body as given and returns status, kept headers and JSON', async () => {
    const base = await serve(async (request, response) => {
      const seen = { method: request.method, url: request.url, raw: request.rawHeaders, body: await textOf(request) };
      answerJson(response, 201, seen, { 'Retry-After': '7', 'X-Request-ID': 'r1', 'Set-Cookie': 'c=1' });
    });
    const headers = { Authorization: 'Bearer t', 'Content-Type': 'application/json' };
    const reply = await client().send({ method: 'POST', url: `${base}/a/%2Fx?b=c%20d`, headers, body: '{}' });
    expect(reply).toMatchObject({ status: 201, body: { method: 'POST', url: '/a/%2Fx?b=c%20d', body: '{}' } });
    expect(reply.headers).toEqual({ date: expect.any(String), 'retry-after': '7', 'x-request-id': 'r1' });
    const { raw } = reply.body as { raw: string[] };
    const names = raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    const ours = ['accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'host'];
    expect(names.sort()).toEqual(ours);
  });

  it('sends a form as multipart', async () => {
    const base = await serve(async (request, response) => {
      answerJson(response, 200, { type: request.headers['content-type'], body: await textOf(request) });
    });
    const body = new FormData();
    body.append('client_secret', 'a&b+c');
    const reply = await client().send({ method: 'POST', url: base, headers: {}, body });
    const seen = reply.body as { type: string; body: string };
    expect(seen.type).toMatch(/^multipart\/form-data; boundary=/);
    expect(seen.body).toContain('name="client_secret"\r\n\r\na&b+c\r\n');
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
    const http = client();
    for (let exchange = 0; exchange < 8; exchange += 1) expect((await http.send(get(base))).status).toBe(status);
    expect(ports.size).toBeLessThanOrEqual(2); // undici frees a connection a moment after its body was read
  });

  it('repeats nothing by itself', async () => {
    let requests = 0;
    const base = await serve((_, response) => {
      requests += 1;
      if (requests === 1) answerJson(response, 503, {});
      else response.destroy();
    });
    const http = client();
    expect((await http.send(get(base))).status).toBe(503);
    await expect(http.send(get(base))).rejects.toThrow(failure('RideApiUnreachable', 'CONNECTION_LOST'));
    expect(requests).toBe(2);
  });

  it('follows no redirect', async () => {
    const visited: unknown[] = [];
    const base = await serve((request, response) => {
      visited.push(request.url);
      response.writeHead(302, { Location: '/elsewhere' }).end();
    });
    expect((await client().send(get(`${base}/here`))).status).toBe(302);
    expect(visited).toEqual(['/here']);
  });
});

describe('the body of an answer', () => {
  const answered = async (status: number, text: string | undefined) => {
    const base = await serve((_, response) => void response.writeHead(status).end(text));
    return client({ maxReplyBytes: 1_000 }).send(get(base));
  };

  it('may be empty on a success', async () => {
    expect(await answered(204, undefined)).toMatchObject({ status: 204, body: undefined });
    expect(await answered(200, ' \n')).toMatchObject({ status: 200, body: undefined });
  });

  it('must be JSON on a success, and is passed over on an error', async () => {
    await expect(answered(200, '<html>')).rejects.toThrow(failure('RideApiGarbled', 'NOT_JSON', { status: 200 }));
    expect(await answered(502, '<html>')).toMatchObject({ status: 502, body: undefined });
    expect(await answered(400, '{"error":"x"}')).toMatchObject({ status: 400, body: { error: 'x' } });
  });

  const tooLarge = failure('RideApiGarbled', 'TOO_LARGE');
  it('may have just the size of the cap, and beyond it does not hide the status of an error', async () => {
    expect((await answered(200, JSON.stringify('x'.repeat(998)))).body).toHaveLength(998);
    await expect(answered(200, JSON.stringify('x'.repeat(999)))).rejects.toThrow(tooLarge);
    expect(await answered(503, 'x'.repeat(5_000))).toMatchObject({ status: 503, body: undefined });
  });

  it('beyond the cap is cut off while it streams', async () => {
    let hungUp: Promise<void> | undefined;
    const base = await serve((request, response) => {
      hungUp = hangUp(request);
      const more = setInterval(() => response.write('x'.repeat(600)), 5);
      response.on('close', () => clearInterval(more));
    });
    await expect(client({ maxReplyBytes: 1_000 }).send(get(base))).rejects.toThrow(tooLarge);
    await hungUp;
  });
});

describe('closing', () => {
  it('lets an exchange in flight end, can be repeated and makes later ones fail', async () => {
    const base = await serve((_, response) => void setTimeout(() => answerJson(response, 200, { done: true }), 30));
    const http = createHttp();
    const inFlight = http.send(get(base));
    await Promise.all([http.close(), http.close()]);
    expect((await inFlight).body).toEqual({ done: true });
    await http.close();
    await expect(http.send(get(base))).rejects.toThrow(failure('RideApiUnreachable', 'CLOSED'));
  });
});

describe('what answers in another language', () => {
  it('is garbled when it is not HTTP', async () => {
    for (const bytes of ['SSH-2.0-OpenSSH\r\n', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`]) {
      const host = await serveBytes((socket) => void socket.write(bytes));
      await expect(client().send(get(`http://${host}`))).rejects.toThrow(failure('RideApiGarbled', 'NOT_HTTP'));
    }
  });

  it('is unreachable when it speaks no TLS', async () => {
    const base = await serve((_, response) => void response.end());
    const https = base.replace('http:', 'https:');
    await expect(client().send(get(https))).rejects.toThrow(failure('RideApiUnreachable', 'TLS'));
  });
});
