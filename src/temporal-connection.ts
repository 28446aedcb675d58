import { Client, type ClientOptions, Connection, isGrpcServiceError } from '@temporalio/client';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { FaretrailError } from './domain/errors.js';
import type { Env } from './env-reader.js';

export type TemporalConnectionErrorCode = 'TemporalSettingsInvalid' | 'TemporalUnreachable' | 'TemporalRefused';

/**
 * There is no connection to Temporal: its settings cannot be read, nothing answers, or it refuses our credentials. The
 * message says where and what to do, never an API key. Not for a connection that is lost later.
 */
export class TemporalConnectionError extends FaretrailError<TemporalConnectionErrorCode> {
  override readonly name = 'TemporalConnectionError';
}

export interface TemporalPlace {
  namespace: string;
  address: string;
}

export interface ConnectOptions {
  /** How long to wait for the first answer. Default 10 s. */
  withinMs?: number;
}

const defaultWithinMs = 10_000;
const refusals: readonly number[] = [7, 16]; // gRPC PERMISSION_DENIED, UNAUTHENTICATED

/** A client over the standard `TEMPORAL_*` settings. The caller closes `connection`. Throws `TemporalConnectionError`. */
export async function connectClient(
  env: Env = process.env,
  { withinMs = defaultWithinMs, ...options }: ConnectOptions & Omit<ClientOptions, 'connection' | 'namespace'> = {},
): Promise<TemporalPlace & { client: Client; connection: Connection }> {
  const { connectionOptions, ...place } = loadTemporalSettings(env);
  const connection = Connection.lazy({ ...connectionOptions, connectTimeout: withinMs });
  try {
    await connection.ensureConnected();
  } catch (error) {
    await connection.close();
    throw toConnectionError(error, place);
  }
  return { ...place, connection, client: new Client({ ...options, connection, namespace: place.namespace }) };
}

/** The same for a worker. Call `Runtime.install` before. The caller closes `connection` after the worker has ended. */
export async function connectNative(
  env: Env = process.env,
  { withinMs = defaultWithinMs }: ConnectOptions = {},
): Promise<TemporalPlace & { connection: NativeConnection }> {
  const { connectionOptions, ...place } = loadTemporalSettings(env);
  // Loaded here, so that processes without a worker do not load the native library.
  const { NativeConnection } = await import('@temporalio/worker');
  const attempt = NativeConnection.connect(connectionOptions);
  try {
    return { ...place, connection: await within(attempt, withinMs) };
  } catch (error) {
    attempt.then((late) => late.close()).catch(() => {}); // the attempt itself cannot be called off
    throw toConnectionError(error, place);
  }
}

/** Where the `TEMPORAL_*` settings point, with `localhost:7233` and `default` for what they leave out. */
export function loadTemporalSettings(
  env: Env,
): TemporalPlace & { connectionOptions: ClientConnectConfig['connectionOptions'] } {
  // Empty is unset, as everywhere in our settings; the library would connect to the empty address.
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars });
    const address = connectionOptions.address || 'localhost:7233';
    return { connectionOptions: { ...connectionOptions, address }, namespace: namespace || 'default', address };
  } catch (error) {
    // First line only and no cause: a parse error goes on with the lines of the file, which may hold the API key.
    const [reason] = error instanceof Error ? error.message.split('\n') : [];
    throw new TemporalConnectionError(
      'TemporalSettingsInvalid',
      `the TEMPORAL_* variables or the profile file they name cannot be used: ${reason ?? 'no reason given'}`,
    );
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

function toConnectionError(cause: unknown, { address, namespace }: TemporalPlace): TemporalConnectionError {
  const answer = cause instanceof Error && isGrpcServiceError(cause.cause) ? cause.cause : cause;
  if (isGrpcServiceError(answer) && refusals.includes(answer.code))
    return new TemporalConnectionError(
      'TemporalRefused',
      `Temporal at ${address} refuses us (namespace "${namespace}"); check TEMPORAL_API_KEY or the client certificate`,
      { cause },
    );
  return new TemporalConnectionError(
    'TemporalUnreachable',
    `Temporal at ${address} cannot be reached; start it (npm start does), or correct TEMPORAL_ADDRESS and TEMPORAL_TLS`,
    { cause },
  );
}
