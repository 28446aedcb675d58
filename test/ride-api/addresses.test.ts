import type { LookupAddress } from 'node:dns';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sentBy } from '../../src/ride-api/errors.js';
import { type ApiRequest, createHttp, type HttpOptions } from '../../src/ride-api/http.js';
import { failure } from './accounts.js';
import { answerJson } from './loopback-server.js';

/** A service on one address of this machine. */
async function serveAt(host: string, port = 0, listener?: RequestListener) {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    if (listener) listener(request, response);
    else answerJson(response, 200, { host });
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, calls: () => calls, close };
}

/** Resolves each name to these addresses of the moment. */
const namesAt =
  (addresses: () => readonly string[]): LookupFunction =>
  (_, options, found) => {
    const all = addresses().map((address): LookupAddress => ({ address, family: isIP(address) }));
    if (options.all) found(null, all);
    else found(null, all[0]?.address ?? '', all[0]?.family);
  };

function clientOf(options: HttpOptions) {
  const http = createHttp(options);
  onTestFinished(() => void http.close());
  return http;
}
const create = (port: number, host = 'service.example'): ApiRequest => ({
  method: 'POST',
  url: `http://${host}:${port}/`,
  headers: {},
  body: '{}',
});

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === '::1');

describe.skipIf(!hasIpv6)('a service with an IPv6 address', () => {
  it.each([
    ['as a number', '[::1]', []],
    ['alone, by name', 'service.example', ['::1']],
    ['and an IPv4 address that refuses', 'service.example', ['127.0.0.9', '::1']],
    ['and an IPv4 address that is silent', 'service.example', ['192.0.2.1', '::1']],
  ])('%s is called once', async (_, host, addresses) => {
    const { port, calls } = await serveAt('::1');
    const http = clientOf({ lookup: namesAt(() => addresses) });
    expect(await http.send(create(port, host))).toMatchObject({ status: 200, body: { host: '::1' } });
    expect(calls()).toBe(1);
  });

  it('was sent nothing when neither address takes a connection', async () => {
    const http = clientOf({ lookup: namesAt(() => ['127.0.0.9', '::1']) });
    const error = await http.send(create(1)).catch((thrown: unknown) => thrown);
    expect(error).toEqual(failure('RideApiUnreachable', 'NO_CONNECTION', { systemCode: 'ECONNREFUSED' }));
    expect(sentBy(error, true)).toBe('no');
  });
});

describe('a service that moves to another address', () => {
  /** A name that moves, after a call to its first address. */
  async function moving(options: HttpOptions, listener?: RequestListener) {
    let at = '127.0.0.1';
    let isHanging = false;
    const old = await serveAt('127.0.0.1', 0, (request, response) => {
      if (!isHanging) answerJson(response, 200, { host: '127.0.0.1' }, { 'Keep-Alive': 'timeout=600' });
      else listener?.(request, response);
    });
    await serveAt('127.0.0.2', old.port);
    const http = clientOf({ lookup: namesAt(() => [at]), ...options });
    const hostOf = async () => ((await http.send(create(old.port))).body as { host: string }).host;
    expect(await hostOf()).toBe('127.0.0.1');
    await sleep(30); // undici frees a connection a moment after its body was read
    at = '127.0.0.2';
    const hang = (): void => {
      isHanging = true;
    };
    return { old, hostOf, hang };
  }

  it('is found there when the connections have their age, though the old address goes on to answer', async () => {
    const { hostOf } = await moving({ connectionAgeMs: 300 });
    const from = performance.now();
    const hosts: string[] = [];
    while (performance.now() - from < 600) {
      hosts.push(await hostOf());
      await sleep(10);
    }
    const moved = hosts.indexOf('127.0.0.2');
    expect(moved).toBeGreaterThan(2); // until then the connection is kept
    expect(new Set(hosts.slice(moved))).toEqual(new Set(['127.0.0.2']));
  });

  it('is found there by the next call, when the old address hangs: one call is lost, after its time limit', async () => {
    const { hostOf, hang } = await moving({ headersMs: 100 });
    hang();
    await expect(hostOf()).rejects.toThrow(failure('RideApiUnreachable', 'CONNECTION_LOST'));
    expect(await hostOf()).toBe('127.0.0.2');
  });

  it('is found there by the next call, when the old address has closed its connections', async () => {
    const { hostOf, old } = await moving({});
    old.close();
    await sleep(50);
    expect(await hostOf()).toBe('127.0.0.2');
  });

  it('gets each call once, however often connections reach their age while others wait in line for one', async () => {
    const later: RequestListener = (_, response) =>
      void setTimeout(() => answerJson(response, 200, {}), 5 + Math.random() * 30);
    const { port, calls } = await serveAt('127.0.0.1', 0, later);
    const http = clientOf({ connections: 2, connectionAgeMs: 20, totalMs: 5_000 });
    const sent: Promise<unknown>[] = [];
    for (let call = 0; call < 60; call += 1) {
      sent.push(http.send(create(port, '127.0.0.1')));
      await sleep(Math.random() * 15);
    }
    await Promise.all(sent);
    await http.close();
    expect(calls()).toBe(60);
  });
});
