import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { inspect } from 'node:util';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connectClient, connectNative, promptConnectionOptions } from '../../src/temporal/connection.js';
import { loadTemporalSettings } from '../../src/temporal/settings.js';
import { encodedKey } from '../settings/env.js';
import { createAuthority } from '../support/server/certificates.js';

const folder = mkdtempSync(join(tmpdir(), 'faretrail-temporal-'));
const noFile = { TEMPORAL_CONFIG_FILE: join(folder, 'none.toml') };

describe('Temporal settings', () => {
  it('point at the local server when nothing is set', () => {
    const place = { address: 'localhost:7233', namespace: 'default' };
    expect(loadTemporalSettings(noFile)).toMatchObject(place);
    expect(loadTemporalSettings({ ...noFile, TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: '' })).toMatchObject(place);
  });

  it('come from the standard variables', () => {
    const address = 'temporal.example:7233';
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'rides', TEMPORAL_API_KEY: 'k' };
    const connectionOptions = { address, apiKey: 'k', tls: true };
    const expected = { address, namespace: 'rides', connectionOptions };
    expect(loadTemporalSettings({ ...noFile, ...env })).toMatchObject(expected);
  });

  it('do not show the profile file when it cannot be read', () => {
    const TEMPORAL_CONFIG_FILE = join(folder, 'bad.toml');
    writeFileSync(TEMPORAL_CONFIG_FILE, '[profile.default]\napi_key = "hidden-value\n');
    const invalid = { code: 'TemporalSettingsInvalid', message: expect.stringContaining('TOML') };
    const load = () => loadTemporalSettings({ TEMPORAL_CONFIG_FILE });
    expect(load).toThrow(expect.objectContaining(invalid));
    expect(load).toThrow(expect.toSatisfy((error) => !inspect(error).includes('hidden-value')));
  });

  it.each(['CERT', 'KEY'])('want a client certificate whole: not %s alone', (part) => {
    const file = join(folder, 'half.pem');
    writeFileSync(file, 'hidden-value');
    for (const [end, value] of Object.entries({ PATH: file, DATA: 'hidden-value' })) {
      const half = { ...noFile, [`TEMPORAL_TLS_CLIENT_${part}_${end}`]: value };
      expect(() => loadTemporalSettings(half)).toThrow(/^(?!.*hidden).*TEMPORAL_TLS_CLIENT_/s);
    }
  });

  it('take PEM whose line ends came as letters: both ends of a TLS connection accept it', async () => {
    const authority = createAuthority('rides');
    const { cert, key } = authority.server();
    const client = authority.client();
    const files = { SERVER_CA_CERT: authority.ca, CLIENT_CERT: client.cert, CLIENT_KEY: client.key };
    const trusted = { ca: readFileSync(authority.ca), requestCert: true };
    const server = createTlsServer({ ...trusted, cert: readFileSync(cert), key: readFileSync(key) });
    server.on('secureConnection', (socket) => socket.end(`${socket.authorized}`));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    for (const lineEnd of ['\n', '\\n', '\\r\\n']) {
      const env = Object.fromEntries(
        Object.entries(files).map(([name, file]) => [
          `TEMPORAL_TLS_${name}_DATA`,
          readFileSync(file, 'utf8').replaceAll('\n', lineEnd),
        ]),
      );
      const { tls } = loadTemporalSettings({ ...noFile, ...env }).connectionOptions;
      const { serverRootCACertificate: ca = [], clientCertPair: pair } = typeof tls === 'object' && tls ? tls : {};
      const mine = { cert: Buffer.from(pair?.crt ?? []), key: Buffer.from(pair?.key ?? []) };
      const socket = connectTls({ ...mine, ca: Buffer.from(ca), port: (server.address() as AddressInfo).port });
      const [said] = await once(socket, 'data');
      expect(String(said)).toBe('true');
    }
  });

  it('hold the payload keys, and name what is wrong with them', async () => {
    const encrypts = { ...noFile, FARETRAIL_ENCRYPT_PAYLOADS: 'true' };
    const { dataConverter } = loadTemporalSettings({ ...encrypts, FARETRAIL_PAYLOAD_KEYS: `p1:${encodedKey(1)}` });
    const [payload] = (await dataConverter.payloadCodecs?.[0]?.encode([{ data: Buffer.from('x') }])) ?? [];
    expect(payload?.metadata).toHaveProperty('encryption-key-id');
    expect(() => loadTemporalSettings(encrypts)).toThrow(/FARETRAIL_PAYLOAD_KEYS: missing/);
  });

  it('name a profile that does not exist', () => {
    expect(() => loadTemporalSettings({ ...noFile, TEMPORAL_PROFILE: 'staging' })).toThrow(
      /^(?!.*staging).*TEMPORAL_PROFILE: there is no such profile/s,
    );
  });
});

describe.each(Object.entries({ client: connectClient, worker: connectNative }))(
  'the connection of a %s that does not come about',
  (_kind, connect) => {
    it('is given up by its deadline where the server says nothing, and shows no API key', async () => {
      const silent = createServer(); // accepts connections and says nothing
      await once(silent.listen(0, '127.0.0.1'), 'listening');
      const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const env = { ...noFile, TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: 'hidden-value' };
      const started = performance.now();
      const error = await connect(env, { withinMs: 300 }).catch((refusal: unknown) => refusal);
      silent.close();
      expect(performance.now() - started, 'its own deadline is 10 s').toBeLessThan(8_000);
      const message = expect.stringContaining('TEMPORAL_ADDRESS: Temporal does not answer there');
      expect(error).toMatchObject({ code: 'TemporalUnreachable', message });
      expect(inspect(error)).not.toContain('hidden-value');
    });

    it('names the setting where nothing listens', async () => {
      await expect(connect({ ...noFile, TEMPORAL_ADDRESS: '127.0.0.1:1' }, { withinMs: 300 })).rejects.toMatchObject({
        code: 'TemporalUnreachable',
        message: expect.stringMatching(/^TEMPORAL_ADDRESS: nothing listens there; start Temporal/),
      });
    });

    const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
    it.skipIf(!hasIpv6)(
      'goes to an IPv6 address, and through no proxy, which is for calls to the service',
      async () => {
        const reached: string[] = [];
        const listen = async (name: string, host: string) => {
          const server = createServer((socket) => socket.destroy()).on('connection', () => reached.push(name));
          await once(server.listen(0, host), 'listening');
          onTestFinished(() => void server.close());
          return (server.address() as AddressInfo).port;
        };
        const TEMPORAL_ADDRESS = `[::1]:${await listen('temporal', '::1')}`;
        const proxy = `http://127.0.0.1:${await listen('proxy', '127.0.0.1')}`;
        for (const name of ['https_proxy', 'http_proxy', 'grpc_proxy', 'HTTPS_PROXY']) vi.stubEnv(name, proxy);
        onTestFinished(() => void vi.unstubAllEnvs());
        await expect(connect({ ...noFile, TEMPORAL_ADDRESS }, { withinMs: 300 })).rejects.toThrow(
          'Temporal does not answer',
        );
        expect(new Set(reached)).toEqual(new Set(['temporal']));
      },
    );
  },
);

/** Nothing listens there, so that a call is repeated after growing pauses. */
const nowhere = '127.0.0.1:1';

describe('a connection that is closed during an outage', () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => uncaught.push(error);
  // Vitest would report what nobody catches by itself; this test has to see it first.
  const others = process.listeners('uncaughtException');
  beforeAll(() => {
    process.removeAllListeners('uncaughtException').on('uncaughtException', note);
  });
  afterAll(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  });

  it.each([50, 150, 400, 800])('throws nothing later, when it is closed after %i ms', async (afterMs) => {
    const connection = Connection.lazy({ address: nowhere, ...promptConnectionOptions });
    const call = connection.withDeadline(Date.now() + 5_000, () => connection.workflowService.getClusterInfo({}));
    const ended = call.catch((error: unknown) => error);
    await sleep(afterMs);
    await connection.close();
    expect(await ended, 'the call ends with the connection, before its deadline').toMatchObject({ code: 1 });
    await sleep(600); // no pause between two attempts is longer
    expect(uncaught).toEqual([]);
  });
});
