import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { connectClient, connectNative } from '../../src/temporal/connection.js';
import { ensureSearchAttributes } from '../../src/temporal/visibility.js';
import { textFile } from '../support/json-file.js';
import { type CertificateFiles, createAuthority, type TestAuthority } from '../support/server/certificates.js';

const missingFile = () => '/nonexistent/file';
const apiKey = 'api-key-for-the-server-alone';
let ours: TestAuthority;
let other: TestAuthority;
/** Wants a client certificate. */
let mutual: TlsServer;
let plain: TlsServer;

beforeAll(async () => {
  [ours, other] = [createAuthority('ours'), createAuthority('other')];
  const server = ours.server();
  mutual = await startTlsServer(server, ours.ca);
  plain = await startTlsServer(server);
});
afterAll(() => {
  for (const server of [mutual, plain]) server?.close();
});

/** As a deployment sets it; no profile file of the machine gets in between. */
const settings = (server: TlsServer, more: Record<string, string> = {}) => ({
  TEMPORAL_CONFIG_FILE: missingFile(),
  TEMPORAL_ADDRESS: server.address,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: ours.ca,
  ...more,
});
const withCertificate = ({ cert, key }: CertificateFiles) => ({
  TEMPORAL_TLS_CLIENT_CERT_PATH: cert,
  TEMPORAL_TLS_CLIENT_KEY_PATH: key,
});

/** Both kinds of connection: those of clients, and that of a worker. */
const kinds = { client: connectClient, worker: connectNative };

async function callOver(connectAs: typeof connectClient | typeof connectNative, env: Record<string, string>) {
  const { connection } = await connectAs(env, { withinMs: 20_000 });
  await connection.workflowService.getSystemInfo({});
  await connection.close();
}

describe.each(Object.entries(kinds))('the connection of a %s over TLS', (_kind, connectAs) => {
  /** It does not come about, so the test need not wait long. */
  const refusalOf = (env: Record<string, string>): Promise<unknown> =>
    connectAs(env, { withinMs: 500 }).then(
      () => expect.fail('it was connected'),
      (error: unknown) => error,
    );
  const failsOver = (setting: string) => ({ code: 'TemporalTlsFailed', message: expect.stringContaining(setting) });

  it('checks the server, and shows it an API key', async () => {
    plain.calls.length = 0;
    await callOver(connectAs, settings(plain, { TEMPORAL_API_KEY: apiKey }));
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

  it('shows a client certificate where the server wants one', async () => {
    await callOver(connectAs, settings(mutual, withCertificate(ours.client())));
  });

  it('takes an IP address in place of a name, or says that it needs a name', async () => {
    const env = settings(plain, { TEMPORAL_ADDRESS: plain.address.replace('localhost', '127.0.0.1') });
    const isNameNeeded = connectAs === connectClient && Number.parseInt(process.versions.node, 10) >= 26;
    if (!isNameNeeded) return await callOver(connectAs, env);
    expect(await refusalOf(env)).toMatchObject(failsOver('TEMPORAL_TLS_SERVER_NAME'));
    await callOver(connectAs, { ...env, TEMPORAL_TLS_SERVER_NAME: 'localhost' });
  });

  const [name, certificate] = ['TEMPORAL_TLS_SERVER_NAME', 'TEMPORAL_TLS_CLIENT_CERT_PATH'];
  it.each([
    ['has another name', () => settings(plain, { [name]: 'temporal.example' }), name],
    ['wants a client certificate', () => settings(mutual), certificate],
    ['does not trust the client certificate', () => settings(mutual, withCertificate(other.client())), certificate],
    ['speaks no TLS', () => settings(plain, { TEMPORAL_ADDRESS: inject('temporalAddress') }), 'does not speak TLS'],
  ])('fails and says where to look when the server %s', async (_what, env, place) => {
    expect(await refusalOf(env())).toMatchObject(failsOver(place));
  });

  it('takes authority, client certificate and API key from a profile file', async () => {
    const { cert, key } = ours.client();
    const file = textFile(
      `[profile.cloud]
      address = "${mutual.address}"
      namespace = "rides.a1b2c"
      api_key = "${apiKey}"
      [profile.cloud.tls]
      server_ca_cert_path = "${ours.ca}"
      client_cert_path = "${cert}"
      client_key_path = "${key}"
      server_name = "localhost"`,
    );
    mutual.calls.length = 0;
    await callOver(connectAs, { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'cloud' });
    expect(mutual.calls.every(({ authorization }) => authorization === `Bearer ${apiKey}`)).toBe(true);
  });
});

describe('a worker that is told no authority', () => {
  const env = () => settings(plain, { TEMPORAL_TLS_SERVER_NAME: 'localhost', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '' });

  /** Connects where the native library finds this as the CA file of the system. */
  async function connectWith(file: string): Promise<void> {
    vi.stubEnv('SSL_CERT_FILE', file);
    vi.stubEnv('SSL_CERT_DIR', undefined);
    await callOver(connectNative, env()).finally(() => vi.unstubAllEnvs());
  }

  it("trusts the authorities of the system's CA file", async () => {
    await connectWith(ours.ca);
  });

  const noFile = /no CA file.*ca-certificates.*SSL_CERT_FILE/;
  it.each([
    ['holds other authorities', () => other.ca, /TEMPORAL_TLS_SERVER_CA_CERT_PATH.*SSL_CERT_FILE/],
    ['is missing', missingFile, noFile],
    ['is empty', () => textFile(''), noFile],
  ])("says with the remedy that the system's CA file %s", async (_, file, remedy) => {
    const fault = { code: 'TemporalTlsFailed', message: expect.stringMatching(remedy) };
    await expect(connectWith(file())).rejects.toMatchObject(fault);
  });
});

it('a worker registers search attributes once, then finds them, and says when its namespace is unknown', async () => {
  const inClear = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' };
  const { connection, namespace } = await connectNative(inClear);
  await ensureSearchAttributes(connection, namespace);
  expect(await ensureSearchAttributes(connection, namespace)).toBe(true);
  const query = "RideAccount = 'none' AND RideAttention IS NULL";
  expect(await connection.workflowService.countWorkflowExecutions({ namespace, query })).toMatchObject({ groups: [] });
  const unknown = ensureSearchAttributes(connection, 'no-such-namespace');
  await expect(unknown).rejects.toMatchObject({ code: 'NamespaceUnknown' });
  await connection.close();
});

type TlsServer = Awaited<ReturnType<typeof startTlsServer>>;

/** An empty message of gRPC: no compression, no bytes. */
const emptyMessage = Buffer.alloc(5);

/**
 * Ends TLS as Temporal Cloud does, and answers each call with an empty message. With `clientCa` only callers with a certificate of this
 * authority get in. `calls`: the headers of each call.
 */
async function startTlsServer(files: CertificateFiles, clientCa?: string) {
  const calls: IncomingHttpHeaders[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const mutual = clientCa === undefined ? {} : { ca: readFileSync(clientCa), requestCert: true };
  const server = createSecureServer({ cert: readFileSync(files.cert), key: readFileSync(files.key), ...mutual });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {}); // a caller that goes away
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    calls.push(headers);
    stream.on('error', () => {});
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.end(emptyMessage);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    calls,
    close() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}
