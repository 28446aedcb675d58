import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ApiRequest, createHttp, type HttpOptions } from '../../src/ride-api/http.js';
import { createRandom } from '../support/random.js';
import { failure } from './accounts.js';
import { answerJson } from './loopback-server.js';

const random = createRandom();

/** A service on one address of this machine, which it says in its answers. */
async function serveAt(host: string, port = 0, listener?: RequestListener) {
  const answer: RequestListener = (_, response) => answerJson(response, 200, { host }, { 'Keep-Alive': 'timeout=600' });
  let calls = 0;
  const server = createServer(listener ?? answer).on('request', () => (calls += 1));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, calls: () => calls, answer, close };
}

/** A client that finds each name at these addresses of the moment. */
function clientOf(addresses: () => readonly string[], options: HttpOptions = {}) {
  const lookup: LookupFunction = (_name, _options, found) =>
    found(
      null,
      addresses().map((address) => ({ address, family: isIP(address) })),
    );
  const http = createHttp({ lookup, ...options });
  onTestFinished(() => void http.close());
  return http;
}

const create = (port: number, host = 'service.example'): ApiRequest => ({
  ...{ method: 'POST', url: `http://${host}:${port}/`, headers: {}, body: '{}' },
});

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

describe.skipIf(!hasIpv6)('a service with an IPv6 address', () => {
  it.each([
    ['as a number', '[::1]', []],
    ['alone, by name', 'service.example', ['::1']],
    ['and an IPv4 address that refuses', 'service.example', ['127.0.0.9', '::1']],
    ['and an IPv4 address that is silent', 'service.example', ['192.0.2.1', '::1']],
  ])('%s is called once', async (_, host, addresses) => {
    const { port, calls } = await serveAt('::1');
    const { body } = await clientOf(() => addresses).send(create(port, host));
    expect([body, calls()]).toEqual([{ host: '::1' }, 1]);
  });

  it('was sent nothing when neither address takes a connection', async () => {
    const error = failure('RideApiUnreachable', 'NO_CONNECTION', { systemCode: 'ECONNREFUSED' });
    await expect(clientOf(() => ['127.0.0.9', '::1']).send(create(1))).rejects.toThrow(error);
  });
});

describe('a service that moves to another address', () => {
  const [before, after] = ['127.0.0.1', '127.0.0.2'];

  /** A name that has moved after a call to its first address, whose connection is kept. */
  async function moved(options: HttpOptions) {
    let address = before;
    let isSilent = false;
    const old = await serveAt(before, 0, (...call) => isSilent || old.answer(...call));
    await serveAt(after, old.port);
    const http = clientOf(() => [address], options);
    const hostOf = async () => ((await http.send(create(old.port))).body as { host: string }).host;
    expect(await hostOf()).toBe(before);
    await sleep(30); // undici frees a connection a moment after its body was read
    address = after;
    const silence = (): void => {
      isSilent = true;
    };
    return { hostOf, silence, close: old.close };
  }

  it('is found there when its connections have their age, though the old address goes on to answer', async () => {
    const { hostOf } = await moved({ connectionAgeMs: 800 });
    const hosts: string[] = [];
    for (const from = performance.now(); performance.now() - from < 1_200; await sleep(10)) hosts.push(await hostOf());
    const first = hosts.indexOf(after);
    expect(first).toBeGreaterThan(2); // until then the connection is kept
    expect(new Set(hosts.slice(first))).toEqual(new Set([after]));
  });

  it('is found there by the next call, when the old address is silent: one call is lost, after its time limit', async () => {
    const { hostOf, silence } = await moved({ headersMs: 100 });
    silence();
    await expect(hostOf()).rejects.toThrow(failure('RideApiUnreachable', 'CONNECTION_LOST'));
    expect(await hostOf()).toBe(after);
  });

  it('is found there by the next call, when the old address has closed its connections', async () => {
    const { hostOf, close } = await moved({});
    close();
    await sleep(50);
    expect(await hostOf()).toBe(after);
  });
});

it('each call is sent once, however often connections reach their age while others wait in line for one', async () => {
  const { port, calls } = await serveAt('127.0.0.1', 0, (_, response) => {
    setTimeout(() => response.end(), 5 + random() * 30);
  });
  const http = clientOf(() => [], { connections: 2, connectionAgeMs: 20, totalMs: 5_000 });
  const sent: Promise<unknown>[] = [];
  for (let call = 0; call < 60; call += 1) {
    sent.push(http.send(create(port, '127.0.0.1')));
    await sleep(random() * 15);
  }
  await Promise.all([...sent, http.close()]);
  expect(calls()).toBe(60);
});
