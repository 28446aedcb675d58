import {
  Client,
  type ClientOptions,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { type ClientConnectConfig, loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { FaretrailError } from '../domain/errors.js';
import { toDataConverter } from '../sealing/data-converter.js';
import { readPayloadEncryption } from '../settings/codec.js';
import { createEnvReader, type Env, readFileFromDisk } from '../settings/env-reader.js';
import { isGrpc } from './run-errors.js';
import { findTlsFault } from './tls-fault.js';

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

/** A client over the standard `TEMPORAL_*` settings, with the payload keys. The caller closes `connection`. Throws
 *  `TemporalConnectionError`. */
export async function connectClient(
  env: Env,
  { withinMs = defaultWithinMs, ...options }: ConnectOptions & Omit<ClientOptions, 'connection' | 'namespace'> = {},
): Promise<TemporalPlace & { client: Client; connection: Connection }> {
  const { connectionOptions, ...place } = loadTemporalSettings(env);
  const { namespace, dataConverter } = place;
  const connection = Connection.lazy({ ...connectionOptions, connectTimeout: withinMs });
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
    Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1])),
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
  const problems: string[] = [];
  const encryption = readPayloadEncryption(createEnvReader({ env, readFile: readFileFromDisk, problems }));
  if (problems.length > 0) throw new TemporalConnectionError('TemporalSettingsInvalid', problems.join('\n'));
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
  const fault = await findTlsFault({ address, tls }, cause);
  if (fault !== undefined)
    return new TemporalConnectionError('TemporalTlsFailed', `Temporal at ${address}: ${fault}`, { cause });
  return new TemporalConnectionError(
    'TemporalUnreachable',
    `Temporal at ${address} cannot be reached; start it (npm start does), or correct TEMPORAL_ADDRESS and TEMPORAL_TLS`,
    { cause },
  );
}

/**
 * Options for the ingress's connection: it forwards its backlog within a second after Temporal is back. By default the
 * pauses between attempts to connect grow to two minutes.
 */
export const promptConnectionOptions = {
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 },
  interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxIntervalMs: () => 500 }))],
} as const satisfies ConnectionOptions;
