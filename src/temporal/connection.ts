import { once } from 'node:events';
import { connect as connectTcp, isIP } from 'node:net';
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
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import type { Env } from '../settings/env-reader.js';
import { isGrpc } from './run-errors.js';
import { defaultAddress, loadTemporalSettings, TemporalConnectionError, type TemporalPlace } from './settings.js';

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
  await reach(place.address, withinMs);
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
  await reach(place.address, withinMs);
  const attempt = NativeConnection.connect(connectionOptions);
  try {
    return { ...place, connection: await within(attempt, withinMs) };
  } catch (error) {
    attempt.then((late) => late.close()).catch(() => {}); // the attempt itself cannot be cancelled
    throw await toConnectionError(error, place, connectionOptions);
  }
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

/** Host and port of an address; without a port, Temporal's own. */
function partsOf(address: string): { host: string; port: number } {
  const { hostname, port } = new URL(`tcp://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 7233) };
}

/** Fails at once where no connection is possible: the libraries would try until the deadline, and tell no reason. */
async function reach(address: string, withinMs: number): Promise<void> {
  const socket = connectTcp(partsOf(address));
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(withinMs) });
  } catch (error) {
    throw unreachable(address, error);
  } finally {
    socket.destroy();
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be resolved',
};

function unreachable(address: string, cause: unknown): TemporalConnectionError {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const why = reasons[code] ?? 'Temporal does not answer there';
  const where = address === defaultAddress ? `${why} (${defaultAddress}, the default)` : why;
  const remedy = 'start Temporal (npm start does), or correct TEMPORAL_ADDRESS and TEMPORAL_TLS';
  return new TemporalConnectionError('TemporalUnreachable', `TEMPORAL_ADDRESS: ${where}; ${remedy}`, { cause });
}

async function toConnectionError(
  cause: unknown,
  { address }: TemporalPlace,
  { tls }: ClientConnectConfig['connectionOptions'],
): Promise<TemporalConnectionError> {
  if (isGrpc(cause, 'PERMISSION_DENIED', 'UNAUTHENTICATED'))
    return new TemporalConnectionError(
      'TemporalRefused',
      'TEMPORAL_API_KEY: Temporal refuses us; check it or the client certificate, and TEMPORAL_NAMESPACE',
      { cause },
    );
  const fault = await findTlsFault(address, tls, cause);
  if (fault === undefined) return unreachable(address, cause);
  return new TemporalConnectionError('TemporalTlsFailed', `Temporal at TEMPORAL_ADDRESS: ${fault}`, { cause });
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
  const { host, port } = partsOf(address);
  const servername = tls.serverNameOverride ?? host;
  const { serverRootCACertificate: ca, clientCertPair } = tls;
  return {
    host,
    port,
    ALPNProtocols: ['h2'],
    ...(isIP(servername) ? {} : { servername }),
    ...(ca ? { ca: Buffer.from(ca) } : {}),
    ...(clientCertPair ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) } : {}),
  };
}
