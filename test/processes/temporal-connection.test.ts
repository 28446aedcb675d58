import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import {
  connect,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Check } from '../../src/cli/doctor/checks.js';
import { connectClient, connectNative } from '../../src/temporal/connection.js';
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.js';
import { type CertificateFiles, createAuthority, type TestAuthority } from '../support/server/certificates.js';
import { runStarter } from '../support/worker/process.js';

const folder = mkdtempSync(join(tmpdir(), 'faretrail-tls-'));
const apiKey = 'api-key-that-nobody-may-see';
let ours: TestAuthority;
let other: TestAuthority;
let client: CertificateFiles;
let stranger: CertificateFiles;
/** Wants a client certificate; wants none. */
let mutual: TlsProxy;
let plain: TlsProxy;

beforeAll(async () => {
  [ours, other] = [createAuthority('ours'), createAuthority('other')];
  const server = ours.server();
  client = ours.client();
  stranger = other.client();
  mutual = await startTlsProxy(inject('temporalAddress'), { server, clientCa: ours.ca });
  plain = await startTlsProxy(inject('temporalAddress'), { server });
});
afterAll(() => Promise.all([mutual?.close(), plain?.close()]));

/** As a deployment sets it; no profile file of the machine gets in between. */
const settings = (proxy: TlsProxy, more: Record<string, string> = {}) => ({
  TEMPORAL_CONFIG_FILE: join(folder, 'none.toml'),
  TEMPORAL_ADDRESS: proxy.address,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: ours.ca,
  ...more,
});
const withCertificate = ({ cert, key }: CertificateFiles) => ({
  TEMPORAL_TLS_CLIENT_CERT_PATH: cert,
  TEMPORAL_TLS_CLIENT_KEY_PATH: key,
});

/** Both kinds of connection: those of clients, and that of a worker. */
const kinds = { client: connectClient, worker: connectNative };

describe.each(Object.entries(kinds))('the connection of a %s over TLS', (_kind, connectAs) => {
  async function use(env: Record<string, string>): Promise<void> {
    const { connection } = await connectAs(env, { withinMs: 20_000 });
    await connection.workflowService.getSystemInfo({});
    await connection.close();
  }

  /** It does not come about, so there is nothing to wait for. */
  const refusalOf = (env: Record<string, string>): Promise<unknown> =>
    connectAs(env, { withinMs: 500 }).then(
      () => expect.fail('it was connected'),
      (error: unknown) => error,
    );
  const failsOver = (setting: string) => ({ code: 'TemporalTlsFailed', message: expect.stringContaining(setting) });

  it('checks the server, and shows an API key', async () => {
    plain.calls.length = 0;
    await use(settings(plain, { TEMPORAL_API_KEY: apiKey }));
    expect(plain.calls.length).toBeGreaterThan(0);
    expect(plain.calls.every(({ authorization }) => authorization === `Bearer ${apiKey}`)).toBe(true);
  });

  it('refuses a server of another authority before it shows anything, and says where to look', async () => {
    plain.calls.length = 0;
    const env = settings(plain, { TEMPORAL_API_KEY: apiKey, TEMPORAL_TLS_SERVER_CA_CERT_PATH: other.ca });
    const error = await refusalOf(env);
    expect(error).toMatchObject(failsOver('TEMPORAL_TLS_SERVER_CA_CERT_PATH'));
    expect(inspect(error, { depth: 9 })).not.toContain(apiKey);
    expect(plain.calls).toEqual([]);
  });

  it('refuses a server of another name', async () => {
    const env = settings(plain, { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' });
    expect(await refusalOf(env)).toMatchObject(failsOver('TEMPORAL_TLS_SERVER_NAME'));
  });

  it('shows a client certificate where one is wanted', async () => {
    await use(settings(mutual, withCertificate(client)));
  });

  it('is refused without one, or with one of another authority, and says where to look', async () => {
    const expected = failsOver('TEMPORAL_TLS_CLIENT_CERT_PATH');
    expect(await refusalOf(settings(mutual))).toMatchObject(expected);
    expect(await refusalOf(settings(mutual, withCertificate(stranger)))).toMatchObject(expected);
  });

  it('says that a server does not speak TLS', async () => {
    const env = { ...settings(plain), TEMPORAL_ADDRESS: inject('temporalAddress') };
    expect(await refusalOf(env)).toMatchObject(failsOver('does not speak TLS'));
  });

  it('takes all of it from a profile file', async () => {
    const file = join(folder, 'temporal.toml');
    writeFileSync(
      file,
      `[profile.cloud]
      address = "${mutual.address}"
      namespace = "rides.a1b2c"
      api_key = "${apiKey}"
      [profile.cloud.tls]
      server_ca_cert_path = "${ours.ca}"
      client_cert_path = "${client.cert}"
      client_key_path = "${client.key}"
      server_name = "localhost"`,
    );
    mutual.calls.length = 0;
    await use({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'cloud' });
    expect(mutual.calls.every(({ authorization }) => authorization === `Bearer ${apiKey}`)).toBe(true);
  });
});

describe('a worker that is told no authority', () => {
  const env = () => settings(plain, { TEMPORAL_TLS_SERVER_NAME: 'localhost', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '' });

  /** Connects where the native library finds this as the CA file of the system. */
  async function connectWith(file: string): Promise<void> {
    vi.stubEnv('SSL_CERT_FILE', file);
    vi.stubEnv('SSL_CERT_DIR', undefined);
    try {
      const { connection } = await connectNative(env(), { withinMs: 20_000 });
      await connection.workflowService.getSystemInfo({});
      await connection.close();
    } finally {
      vi.unstubAllEnvs();
    }
  }

  /** A command as it is installed, whose own library trusts the server. */
  async function doctorWith(file: string): Promise<{ checks: Check[]; errors: string }> {
    const trusting = { ...env(), NODE_EXTRA_CA_CERTS: ours.ca, SSL_CERT_FILE: file };
    const { output, errors } = await runStarter(['doctor', '--json'], trusting);
    return { ...(JSON.parse(output) as { checks: Check[] }), errors };
  }
  const asWorker = { name: 'Temporal, as a worker' };

  it("trusts those of the system's CA file, as the doctor says", async () => {
    await connectWith(ours.ca);
    const { checks, errors } = await doctorWith(ours.ca);
    expect(checks).toContainEqual({ ...asWorker, result: 'ok', message: expect.any(String) });
    expect(errors).toBe('');
  });

  const noFile = /no CA file.*ca-certificates.*SSL_CERT_FILE/;
  it.each([
    ['a CA file of other authorities', () => other.ca, /TEMPORAL_TLS_SERVER_CA_CERT_PATH.*SSL_CERT_FILE/],
    ['a CA file that is missing', missingFile, noFile],
    ['a CA file that is empty', emptyFile, noFile],
  ])('names %s', async (_, file, remedy) => {
    const fault = { code: 'TemporalTlsFailed', message: expect.stringMatching(remedy) };
    await expect(connectWith(file())).rejects.toMatchObject(fault);
  });

  it('is checked by the doctor beside its own connection', async () => {
    const { checks, errors } = await doctorWith(missingFile());
    expect(checks).toContainEqual(expect.objectContaining({ name: 'Temporal', result: 'ok' }));
    expect(checks).toContainEqual({ ...asWorker, result: 'failed', message: expect.stringMatching(noFile) });
    expect(errors).toBe('');
  });
});

const missingFile = () => join(folder, 'none.pem');

function emptyFile(): string {
  const file = join(folder, 'empty.pem');
  writeFileSync(file, '');
  return file;
}

const inClear = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' };

describe('the connection to Temporal', () => {
  it('gives a client that can ask for runs', async () => {
    const { client, connection, namespace } = await connectClient(inClear);
    expect(namespace).toBe('default');
    expect(await client.workflow.count()).toMatchObject({ count: expect.any(Number) });
    await connection.close();
  });

  it('gives a worker its connection, fit for the check of search attributes', async () => {
    const { connection, namespace } = await connectNative(inClear);
    await expect(ensureSearchAttributes(connection, namespace)).resolves.toMatchObject({ checkedBy: 'list' });
    await expect(ensureSearchAttributes(connection, 'no-such-namespace')).rejects.toMatchObject({
      code: 'NamespaceUnknown',
    });
    await connection.close();
  });

  it('says by its deadline that nothing answers, for a worker too', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const attempt = connectNative({ ...inClear, TEMPORAL_ADDRESS: address }, { withinMs: 300 });
    await expect(attempt).rejects.toMatchObject({ code: 'TemporalUnreachable' });
    silent.close();
  });

  it('says that nothing listens at the address', async () => {
    const nowhere = { ...inClear, TEMPORAL_ADDRESS: '127.0.0.1:1' };
    await expect(connectNative(nowhere)).rejects.toMatchObject({
      code: 'TemporalUnreachable',
      message: expect.stringContaining('127.0.0.1:1 '),
    });
  });
});

describe('search attributes on a real server', () => {
  it('are registered once, then found, and then known to queries', async () => {
    const { client, connection, namespace } = await connectClient(inClear);
    await ensureSearchAttributes(connection, namespace);
    expect(await ensureSearchAttributes(connection, namespace)).toEqual({ registered: [], checkedBy: 'list' });
    expect(await client.workflow.count("RideAccount = 'nobody' AND RideAttention IS NULL")).toMatchObject({ count: 0 });
    await connection.close();
  });
});

/** gRPC over TLS in front of a server that speaks it in clear. */
interface TlsProxy {
  address: string;
  /** The headers of each call that came through. */
  calls: IncomingHttpHeaders[];
  close(): Promise<void>;
}

interface TlsProxyOptions {
  server: CertificateFiles;
  /** Only callers with a certificate of this authority get in. Default: everybody does. */
  clientCa?: string;
}

/** Ends TLS as a load balancer or Temporal Cloud does, and passes calls on to `target` (`host:port`). */
async function startTlsProxy(target: string, { server, clientCa }: TlsProxyOptions): Promise<TlsProxy> {
  const calls: IncomingHttpHeaders[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const upstream = connect(`http://${target}`);
  const mutual = clientCa === undefined ? {} : { ca: readFileSync(clientCa), requestCert: true };
  const proxy = createSecureServer({ cert: readFileSync(server.cert), key: readFileSync(server.key), ...mutual });
  proxy.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {}); // a caller that goes away
    session.on('close', () => sessions.delete(session));
  });
  proxy.on('stream', (stream, headers) => {
    calls.push(headers);
    passOn(stream, upstream.request({ ...headers, ':scheme': 'http', ':authority': target }));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    calls,
    async close() {
      for (const session of sessions) session.destroy();
      proxy.close();
      upstream.destroy();
    },
  };
}

/** The status of a gRPC call stands in the trailers, or in the headers when there is nothing else. */
function passOn(stream: ServerHttp2Stream, call: ReturnType<ReturnType<typeof connect>['request']>): void {
  let trailers: IncomingHttpHeaders = {};
  stream.pipe(call);
  call.on('response', (headers) => {
    if (stream.closed || stream.destroyed) return;
    stream.respond(headers, { waitForTrailers: true });
    call.pipe(stream);
  });
  call.on('trailers', (received) => {
    trailers = received;
  });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('error', () => call.close());
  stream.on('close', () => call.close());
  call.on('error', () => stream.close());
}
