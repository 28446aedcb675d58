import { isIP } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';
import {
  Client,
  type ClientOptions,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type TLSConfig,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { type ClientConnectConfig, loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { FaretrailError } from '../domain/errors.js';
import { toDataConverter } from '../sealing/data-converter.js';
import { type Env, EnvReader } from '../settings/env-reader.js';
import { isGrpc } from './run-errors.js';

export type TemporalConnectionErrorCode =
  | 'TemporalSettingsInvalid'
  | 'TemporalUnreachable'
  | 'TemporalTlsFailed'
  | 'TemporalRefused';

/**
 * There is no connection to Temporal: its settings cannot be read, nothing answers, one side does not trust the certificate
 * of the other, or it refuses our credentials. The message names the address and the remedy, never an API key. Not for a
 * connection that is lost later.
 */
export class TemporalConnectionError extends FaretrailError<TemporalConnectionErrorCode> {
  override readonly name = 'TemporalConnectionError';
}

export interface TemporalPlace {
  namespace: string;
  address: string;
  /** How payloads are written and read there; for every client and worker. */
  dataConverter: DataConverter;
}

export interface ConnectOptions {
  /** How long to wait for the first answer. Default 10 s. */
  withinMs?: number;
}

const defaultWithinMs = 10_000;

/** A worker's native library ignores `https_proxy`, `http_proxy` and `grpc_proxy`, and the library of all others heeds them. */
const directly = { 'grpc.enable_http_proxy': 0 };

/** A client over the standard `TEMPORAL_*` settings, with the payload keys. The caller closes `connection`. Throws
 *  `TemporalConnectionError`. */
export async function connectClient(
  env: Env,
  { withinMs = defaultWithinMs, ...options }: ConnectOptions & Omit<ClientOptions, 'connection' | 'namespace'> = {},
): Promise<TemporalPlace & { client: Client; connection: Connection }> {
  const { connectionOptions, ...place } = loadTemporalSettings(env);
  const { namespace, dataConverter } = place;
  const connection = Connection.lazy({
    ...connectionOptions,
    channelArgs: directly,
    connectTimeout: withinMs,
    interceptors: repeatUntilClosed(),
  });
  try {
    await connection.ensureConnected();
  } catch (error) {
    await connection.close();
    throw await toConnectionError(error, place, connectionOptions);
  }
  return { ...place, connection, client: new Client({ dataConverter, ...options, connection, namespace }) };
}

/** The same for a worker. Call `Runtime.install` before. The caller closes `connection` after the worker has ended. */
export async function connectNative(
  env: Env,
  { withinMs = defaultWithinMs }: ConnectOptions = {},
): Promise<TemporalPlace & { connection: NativeConnection }> {
  const { connectionOptions, ...place } = loadTemporalSettings(env);
  // Loaded here, so that processes without a worker do not load the native library.
  const { NativeConnection } = await import('@temporalio/worker');
  const attempt = NativeConnection.connect(connectionOptions);
  try {
    return { ...place, connection: await within(attempt, withinMs) };
  } catch (error) {
    attempt.then((late) => late.close()).catch(() => {}); // the attempt itself cannot be cancelled
    throw await toConnectionError(error, place, connectionOptions);
  }
}

/** Reads the `TEMPORAL_*` settings; by default `localhost:7233` and namespace `default`. Throws `TemporalConnectionError`. */
export function loadTemporalSettings(
  env: Env,
): TemporalPlace & { connectionOptions: ClientConnectConfig['connectionOptions'] } {
  // Empty is unset, as everywhere in our settings; the library would connect to the empty address.
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env)
      .filter((entry): entry is [string, string] => Boolean(entry[1]))
      .map(([name, value]) => [name, /^TEMPORAL_TLS_\w+_DATA$/.test(name) ? withLineEnds(value) : value]),
  );
  const dataConverter = loadDataConverter(env);
  const { connectionOptions, namespace } = loadConnectConfig(overrideEnvVars);
  const address = connectionOptions.address || 'localhost:7233';
  return {
    connectionOptions: { ...connectionOptions, address },
    namespace: namespace || 'default',
    address,
    dataConverter,
  };
}

/** Files of environment variables hold one line each, so the line ends of PEM come as `\\n` in letters. */
const withLineEnds = (pem: string): string => pem.replaceAll(/(?:\\r)?\\n/g, '\n');

function loadConnectConfig(overrideEnvVars: Record<string, string>): ClientConnectConfig {
  try {
    const profile = loadClientConfigProfile({ overrideEnvVars });
    const { clientCert, clientKey } = profile.tls ?? {};
    // The library would ignore one without the other, and the server would refuse us without saying why.
    if (!clientCert !== !clientKey)
      throw new Error('a client certificate needs its key, and a key its certificate: set both TEMPORAL_TLS_CLIENT_*');
    return toClientOptions(profile);
  } catch (error) {
    // First line only and no cause: a parse error goes on with the lines of the file, which may hold the API key.
    const [reason] = error instanceof Error ? error.message.split('\n') : [];
    throw new TemporalConnectionError(
      'TemporalSettingsInvalid',
      `the TEMPORAL_* variables or the profile file they name cannot be used: ${reason ?? 'no reason given'}`,
    );
  }
}

function loadDataConverter(env: Env): DataConverter {
  const read = new EnvReader(env);
  const encryption = read.payloadEncryption();
  // The library takes each value as it is; certificates and keys as text have lines.
  for (const name of Object.keys(env)) if (/^TEMPORAL_(?!.*_DATA$)/.test(name)) read.text(name);
  if (read.problems.length > 0) throw new TemporalConnectionError('TemporalSettingsInvalid', read.problems.join('\n'));
  return toDataConverter(encryption);
}

async function within<T>(attempt: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([attempt, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

async function toConnectionError(
  cause: unknown,
  { address, namespace }: TemporalPlace,
  { tls }: ClientConnectConfig['connectionOptions'],
): Promise<TemporalConnectionError> {
  if (isGrpc(cause, 'PERMISSION_DENIED', 'UNAUTHENTICATED'))
    return new TemporalConnectionError(
      'TemporalRefused',
      `Temporal at ${address} refuses us (namespace "${namespace}"); check TEMPORAL_API_KEY or the client certificate`,
      { cause },
    );
  const fault = await findTlsFault(address, tls, cause);
  if (fault !== undefined)
    return new TemporalConnectionError('TemporalTlsFailed', `Temporal at ${address}: ${fault}`, { cause });
  return new TemporalConnectionError(
    'TemporalUnreachable',
    `Temporal at ${address} cannot be reached; start it (npm start does), or correct TEMPORAL_ADDRESS and TEMPORAL_TLS`,
    { cause },
  );
}

/** A call that ends as it starts. */
const cancelled: ConstructorParameters<typeof InterceptingCall>[0] = {
  start: (_metadata, listener) =>
    listener?.onReceiveStatus?.({
      code: status.CANCELLED,
      details: 'the connection was closed',
      metadata: new Metadata(),
    }),
  cancelWithStatus() {},
  getPeer: () => '',
  sendMessageWithContext() {},
  sendMessage() {},
  startRead() {},
  halfClose() {},
  getAuthContext: () => null,
};

/**
 * For a call that is made after its connection was closed. The channel throws then. Temporal's interceptor repeats a call
 * from a timer, where nobody would catch that, and the process would end.
 */
const cancelAfterClose: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch {
    return new InterceptingCall(cancelled);
  }
};

/** Repeats calls as Temporal's client does by default, until the connection is closed. */
export const repeatUntilClosed = (options?: Parameters<typeof defaultGrpcRetryOptions>[0]): Interceptor[] => [
  makeGrpcRetryInterceptor(defaultGrpcRetryOptions(options)),
  cancelAfterClose,
];

/**
 * Options for the ingress's connection: it forwards its backlog within a second after Temporal is back. By default the
 * pauses between attempts to connect grow to two minutes.
 */
export const promptConnectionOptions = {
  channelArgs: { ...directly, 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 },
  interceptors: repeatUntilClosed({ maxIntervalMs: () => 500 }),
} as const satisfies ConnectionOptions;

const refused =
  'it refuses our client certificate, or wants one: check TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH';

// Node before 26 only warned, and so the client's library still shows the address as the name.
const nameless =
  'with Node 26 a client needs a name to connect over TLS, not an IP address: set TEMPORAL_TLS_SERVER_NAME to a name in its certificate, or give that name in TEMPORAL_ADDRESS';

/**
 * What to do, by the codes of Node and OpenSSL (https://nodejs.org/api/tls.html#x509-certificate-error-codes) and by the words of the SDK's
 * native library. A worker trusts the authorities of the system's CA file, not those that come with Node.
 */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /NativeCertsNotFound/,
    'this system has no CA file, which a worker needs: install the package ca-certificates, or name such a file in SSL_CERT_FILE or TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  ],
  [
    /UnknownIssuer|SELF_SIGNED|^UNABLE_TO_|^CERT_SIGNATURE/,
    'its certificate is of no authority that is trusted here: check TEMPORAL_TLS_SERVER_CA_CERT_PATH, or where that is unset, for a worker, the CA file of this system (SSL_CERT_FILE)',
  ],
  [
    /NotValidForName|ALTNAME_INVALID/,
    'its certificate is for another name: check TEMPORAL_ADDRESS and TEMPORAL_TLS_SERVER_NAME',
  ],
  [
    /InvalidCertificate\((Expired|NotValidYet)|^CERT_(HAS_EXPIRED|NOT_YET_VALID)/,
    'its certificate is not valid at this time: have it renewed, or set the clock',
  ],
  [/WRONG_VERSION/, 'it does not speak TLS: check TEMPORAL_ADDRESS, or unset TEMPORAL_TLS and TEMPORAL_API_KEY'],
  [/ALERT_(\w+_)?(CERTIFICATE|CERT|CA)/, refused],
];

const tlsWithinMs = 3_000;
const remedyOf = (said: string): string | undefined => remedies.find(([form]) => form.test(said))?.[1];

/**
 * Why the TLS connection failed, with the setting to check; undefined without TLS, and for any other reason. Where `cause` gives no
 * reason, this opens a connection of its own to find out.
 */
function findTlsFault(address: string, tls: ConnectionOptions['tls'], cause: unknown): Promise<string | undefined> {
  if (!tls) return Promise.resolve(undefined);
  const known = cause instanceof Error ? remedyOf(cause.message) : undefined;
  if (known !== undefined) return Promise.resolve(known);
  return new Promise((resolve) => {
    const options = toTlsOptions(address, tls === true ? {} : tls);
    const isNameMissing = options.servername === undefined && Number.parseInt(process.versions.node, 10) >= 26;
    const socket = connectTls(options);
    let isGreeted = false;
    const tell = (fault: string | undefined): void => {
      resolve(fault);
      socket.destroy();
    };
    socket.setTimeout(tlsWithinMs, () => tell(undefined));
    socket.on('secureConnect', () => {
      isGreeted = true;
    });
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
      tell(remedyOf(code) ?? (isGreeted ? refused : undefined)),
    );
    // With TLS 1.3 a server checks our certificate after the handshake has ended on our side: then it sends data, or it closes.
    socket.on('data', () => tell(isNameMissing ? nameless : undefined));
    socket.on('end', () => tell(isGreeted ? refused : undefined));
  });
}

function toTlsOptions(address: string, tls: TLSConfig): TlsOptions {
  const { hostname, port } = new URL(`tcp://${address}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const servername = tls.serverNameOverride ?? host;
  const { serverRootCACertificate: ca, clientCertPair } = tls;
  return {
    host,
    port: Number(port),
    ALPNProtocols: ['h2'],
    ...(isIP(servername) ? {} : { servername }),
    ...(ca ? { ca: Buffer.from(ca) } : {}),
    ...(clientCertPair ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) } : {}),
  };
}
