import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Connection } from '@temporalio/client';
import { searchAttributeTypes } from '../../../src/domain/search-attribute-names.js';
import { ensureSearchAttributes } from '../../../src/temporal/visibility.js';
import { freePort } from './free-port.js';
import { openReadiness } from './readiness.js';
import { ServerFailed, type ServerProcess, startServerProcess } from './server-process.js';

export { findDevServer } from './find-dev-server.js';

export interface DevServerOptions {
  /** A `temporal` program, see `findDevServer`. */
  program: string;
  /** The SQLite file. The server makes a missing one, and leaves it behind. */
  databaseFile: string;
  /** Default: any free port. */
  port?: number;
  /** The port of the UI; 0 takes any free port. Default: no UI. */
  uiPort?: number;
  /** The server makes a missing namespace. Default: `default`. */
  namespace?: string;
  /** The port of the server's metrics, in the form of Prometheus; 0 takes any free port. Default: `metricsUrl` is not known. */
  metricsPort?: number;
  /** More dynamic settings of the server. A value is JSON, so a text has quotes. */
  dynamicConfig?: Readonly<Record<string, string>>;
  /** Default: 30 s. A start usually takes one second. */
  readyWithinMs?: number;
  /** More variables of its environment. */
  env?: Readonly<Record<string, string>>;
}

/** A running development server. */
export interface DevServer extends Pick<ServerProcess, 'pid' | 'ended' | 'stop' | 'kill'> {
  /** `host:port` of its gRPC API. */
  address: string;
  namespace: string;
  uiUrl: string | undefined;
  metricsUrl: string | undefined;
  databaseFile: string;
}

const ip = '127.0.0.1';
/**
 * A development server has one shard instead of hundreds. By default the shard looks for work 20 times a second and fires retry
 * timers up to a second late. Each of four partitions of a task queue would get a quarter of its rate limit, so an account with
 * few requests per second would get fewer, and an urgent call would wait for its partition. It reads the search attributes from its
 * database for each workflow task; a production server keeps them in memory.
 */
const ownDynamicConfig = {
  'history.transferProcessorMaxPollRPS': '2000',
  'history.transferProcessorMaxPollHostRPS': '2000',
  'history.timerProcessorMaxPollRPS': '2000',
  'history.timerProcessorMaxPollHostRPS': '2000',
  'history.timerProcessorMaxTimeShift': '"10ms"',
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
  'system.forceSearchAttributesCacheRefreshOnRead': 'false',
};
/** Fast, and durable when the process is killed; not always when the machine loses its power. */
const pragmas = { journal_mode: 'WAL', synchronous: 'NORMAL' };

const readyByDefaultMs = 30_000;
const attempts = 3; // another process may take a free port before the server opens it, and the server picks five more ports

/** Starts `temporal server start-dev` as a child process, and waits until it is ready. Throws `ServerFailed`. */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  mkdirSync(dirname(options.databaseFile), { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      const mayBeThePort = error instanceof ServerFailed && error.code === 'ServerEnded' && !options.port;
      if (!mayBeThePort || attempt === attempts) throw error;
    }
  }
}

async function startOnce(options: DevServerOptions): Promise<DevServer> {
  const port = options.port || (await freePort());
  const uiPort = options.uiPort === 0 ? await freePort() : options.uiPort;
  const metricsPort = options.metricsPort === 0 ? await freePort() : options.metricsPort;
  const namespace = options.namespace ?? 'default';
  const address = `${ip}:${port}`;
  const { databaseFile, dynamicConfig } = options;
  const args = devServerArgs({ databaseFile, port, uiPort, metricsPort, namespace, dynamicConfig });
  const readiness = devServerReadiness(address, namespace);
  const upWithinMs = options.readyWithinMs ?? readyByDefaultMs;
  const env = { ...process.env, ...options.env };
  const starting = startServerProcess(options.program, args, { isUp: readiness.isReady, upWithinMs, env });
  const { pid, ended, stop, kill } = await starting.finally(readiness.close);
  await addSearchAttributes(address, namespace).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const uiUrl = uiPort === undefined ? undefined : `http://${ip}:${uiPort}`;
  const metricsUrl = metricsPort === undefined ? undefined : `http://${ip}:${metricsPort}/metrics`;
  return { address, namespace, uiUrl, metricsUrl, pid, databaseFile, ended, stop, kill };
}

/** Asks whether such a server is ready. */
export const devServerReadiness = (address: string, namespace = 'default') =>
  openReadiness({ address, namespace, searchAttributes: [] });

/** The server makes them only with the namespace: a database that an earlier release has left may lack some. */
async function addSearchAttributes(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address });
  await ensureSearchAttributes(connection, namespace).finally(() => connection.close());
}

interface Chosen {
  databaseFile: string;
  port: number;
  uiPort?: number | undefined;
  metricsPort?: number | undefined;
  namespace?: string;
  dynamicConfig?: Readonly<Record<string, string>> | undefined;
}

/** The arguments of the program. */
export function devServerArgs({
  databaseFile,
  port,
  uiPort,
  metricsPort,
  namespace = 'default',
  ...more
}: Chosen): string[] {
  const settings = Object.entries({ ...ownDynamicConfig, ...more.dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', ip, '--port', String(port), '--namespace', namespace, '--log-level', 'warn'],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...['--db-filename', databaseFile],
    ...(metricsPort === undefined ? [] : ['--metrics-port', String(metricsPort)]),
    ...Object.entries(pragmas).flatMap(([name, value]) => ['--sqlite-pragma', `${name}=${value}`]),
    ...Object.entries(searchAttributeTypes).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
    ...settings.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
  ];
}
