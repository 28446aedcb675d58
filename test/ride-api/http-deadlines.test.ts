import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ApiRequest, createHttp, type HttpLimits } from '../../src/ride-api/http.js';
import { answerJson, hangUp, serve, serveBytes } from './loopback-server.js';

function client(limits: Partial<HttpLimits>) {
  const http = createHttp(limits);
  onTestFinished(() => void http.close());
  return http;
}

const get = (url: string): ApiRequest => ({ method: 'GET', url, headers: {} });
const unreachable = (code: string) => expect.objectContaining({ name: 'RideApiUnreachable', code });

/** A host that accepts connections and never says a byte: over https its handshake never ends. */
const silentHost = () => serveBytes((socket) => void socket.resume());

describe('a deadline', () => {
  it.each([
    ['a connection', 'https', { connectMs: 40 }, 'CONNECT_TIMEOUT'],
    ['a connection, in total', 'https', { totalMs: 40 }, 'TOTAL_TIMEOUT'],
    ['the head of the answer', 'http', { headersMs: 40 }, 'HEADERS_TIMEOUT'],
  ])('ends the wait for %s', async (_, scheme, limits, code) => {
    const url = `${scheme}://${await silentHost()}`;
    await expect(client(limits).send(get(url))).rejects.toThrow(unreachable(code));
  });

  it('ends the wait for the next piece of the body', async () => {
    const base = await serve((_, response) => void response.writeHead(200).write('{"half":'));
    await expect(client({ bodyMs: 40 }).send(get(base))).rejects.toThrow(unreachable('BODY_TIMEOUT'));
  });

  it('ends an answer that drips for ever, and hangs up', async () => {
    let hungUp: Promise<void> | undefined;
    const base = await serve((request, response) => {
      hungUp = hangUp(request);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    await expect(client({ totalMs: 60 }).send(get(base))).rejects.toThrow(unreachable('TOTAL_TIMEOUT'));
    await hungUp;
  });

  it('in total counts the wait in line for a connection', async () => {
    const url = `http://${await silentHost()}`;
    const http = client({ connections: 1, totalMs: 80 });
    const both = await Promise.allSettled([http.send(get(url)), http.send(get(url))]);
    const codes = both.map((result) => result.status === 'rejected' && result.reason.code);
    expect(codes).toEqual(['TOTAL_TIMEOUT', 'TOTAL_TIMEOUT']);
  });
});

describe('a connection', () => {
  it.each([
    ['where nothing listens is refused', 'http://127.0.0.1:1', 'CONNECTION_REFUSED'],
    ['to a name that does not exist fails by DNS', 'http://nowhere.invalid', 'DNS'],
  ])('%s', async (_, url, code) => {
    await expect(client({}).send(get(url))).rejects.toThrow(unreachable(code));
  });

  it.each([
    ['before an answer', ''],
    ['within the head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['within the body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"half":'],
  ])('that breaks %s is lost', async (_, bytes) => {
    const host = await serveBytes((socket: Socket) => {
      socket.once('data', () => socket.write(bytes, () => socket.destroy()));
    });
    await expect(client({}).send(get(`http://${host}`))).rejects.toThrow(unreachable('CONNECTION_LOST'));
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
    await expect(client({}).send(get(base), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(requests).toBe(0);
  });

  it('gets the reason back while the answer is awaited, and the connection ends', async () => {
    const caller = new AbortController();
    let hungUp: Promise<void> | undefined;
    const base = await serve((request) => {
      hungUp = hangUp(request);
      caller.abort(reason);
    });
    await expect(client({}).send(get(base), caller.signal)).rejects.toBe(reason);
    await hungUp;
  });

  it('gets the reason back while the body comes', async () => {
    const caller = new AbortController();
    const base = await serve((_, response) => {
      response.writeHead(200).write('{"half":');
      setTimeout(() => caller.abort(reason), 30);
    });
    await expect(client({}).send(get(base), caller.signal)).rejects.toBe(reason);
  });

  it('gets the reason back at once while a connection is made', async () => {
    const caller = new AbortController();
    const url = `https://${await silentHost()}`;
    // After its deadline the wait would end with another error.
    const sent = client({ connectMs: 600_000, totalMs: 600_000 }).send(get(url), caller.signal);
    caller.abort(reason);
    await expect(sent).rejects.toBe(reason);
  });

  it('leaves no listener behind on a signal that lives on', async () => {
    const base = await serve((_, response) => answerJson(response, 200, {}));
    const caller = new AbortController();
    let listeners = 0;
    const { signal } = caller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await client({}).send(get(base), signal);
    expect(listeners).toBe(0);
  });
});
