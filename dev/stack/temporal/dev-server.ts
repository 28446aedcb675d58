import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { FaretrailError } from '../../../src/domain/errors.js';
import { searchAttributeNames } from '../../../src/domain/search-attribute-names.js';
import { freePort } from './free-port.js';
import { waitUntilReady } from './readiness.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

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
  /** False: a server as it comes, without our `serverSettings`. Default: true. */
  isTuned?: boolean;
  /** More dynamic settings of the server. A value is JSON, so a text has quotes. */
  dynamicConfig?: Readonly<Record<string, string>>;
  /** Default: 30 s. A start usually takes one second. */
  readyWithinMs?: number;
}

/** A running development server. */
export interface DevServer {
  /** `host:port` of its gRPC API. */
  address: string;
  namespace: string;
  uiUrl: string | undefined;
  metricsUrl: string | undefined;
  pid: number;
  databaseFile: string;
  /** Resolves once the server has ended, for whatever reason. */
  ended: Promise<void>;
  /** Sends SIGTERM, and SIGKILL after 5 s. Resolves once the server has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL, as in a crash. Resolves once the server has ended. */
  kill(): Promise<void>;
}

/** The server ended early, or did not answer in time. The message has the end of its log. */
export class DevServerFailed extends FaretrailError<'DevServerEnded' | 'DevServerNotReady'> {
  override readonly name = 'DevServerFailed';
}

const ip = '127.0.0.1';
/**
 * A development server has one shard instead of hundreds. By default the shard looks for work 20 times a second and fires retry
 * timers up to a second late. Each of four partitions of a task queue would get a quarter of its rate limit, so an account with
 * few requests per second would get fewer, and an urgent call would wait for its partition. It reads the search attributes from its
 * database for each workflow task; a production server keeps them in memory.
 */
const smallServerSettings: Readonly<Record<string, string>> = {
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
const pragmas: Readonly<Record<string, string>> = { journal_mode: 'WAL', synchronous: 'NORMAL' };

/** What makes a development server fast or slow. */
export interface ServerSettings {
  /** Where they are from. */
  from: string;
  database: string;
  shards: number;
  pragmas: Readonly<Record<string, string>>;
  dynamicConfig: Readonly<Record<string, string>>;
}

/** The settings of `startDevServer`; those that are not named are the defaults of the server and of SQLite. */
export const serverSettings = (isTuned: boolean): ServerSettings => ({
  from: isTuned ? 'dev/stack/temporal/dev-server.ts' : 'the defaults of a development server',
  database: 'SQLite in a file',
  shards: 1, // a development server has no setting for it
  pragmas: isTuned ? pragmas : {},
  dynamicConfig: isTuned ? smallServerSettings : {},
});

const searchAttributes = Object.values(searchAttributeNames);
const readyByDefaultMs = 30_000;
const attempts = 3; // another process may take a free port before the server opens it, and the server picks five more ports

/** Starts `temporal server start-dev` as a child process, and waits until it is ready. Throws `DevServerFailed`. */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  mkdirSync(dirname(options.databaseFile), { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      const mayBeThePort = error instanceof DevServerFailed && error.code === 'DevServerEnded' && !options.port;
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
  const server = await startServerProcess(
    options.program,
    commandLine(options, { port, uiPort, metricsPort, namespace }),
  );
  await readyOrFailed(server, { address, namespace, withinMs: options.readyWithinMs ?? readyByDefaultMs });
  const { pid, ended, stop, kill } = server;
  const uiUrl = uiPort === undefined ? undefined : `http://${ip}:${uiPort}`;
  const metricsUrl = metricsPort === undefined ? undefined : `http://${ip}:${metricsPort}/metrics`;
  return { address, namespace, uiUrl, metricsUrl, pid, databaseFile: options.databaseFile, ended, stop, kill };
}

interface Chosen {
  port: number;
  uiPort: number | undefined;
  metricsPort: number | undefined;
  namespace: string;
}

function commandLine(options: DevServerOptions, { port, uiPort, metricsPort, namespace }: Chosen): string[] {
  const own = serverSettings(options.isTuned ?? true);
  const settings = Object.entries({ ...own.dynamicConfig, ...options.dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', ip, '--port', String(port), '--namespace', namespace, '--log-level', 'warn'],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...['--db-filename', options.databaseFile],
    ...(metricsPort === undefined ? [] : ['--metrics-port', String(metricsPort)]),
    ...Object.entries(own.pragmas).flatMap(([name, value]) => ['--sqlite-pragma', `${name}=${value}`]),
    ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ...settings.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
  ];
}

interface Awaited {
  address: string;
  namespace: string;
  withinMs: number;
}

async function readyOrFailed(server: ServerProcess, { address, namespace, withinMs }: Awaited): Promise<void> {
  const giveUp = new AbortController();
  void server.ended.then(() => giveUp.abort());
  const timer = setTimeout(() => giveUp.abort(), withinMs);
  const ready = await waitUntilReady({ address, namespace, searchAttributes, signal: giveUp.signal });
  clearTimeout(timer);
  if (ready) return;
  const endedEarly = server.hasEnded();
  await server.kill();
  const what = endedEarly ? 'ended before it could be used' : `did not answer at ${address} within ${withinMs} ms`;
  const code = endedEarly ? 'DevServerEnded' : 'DevServerNotReady';
  throw new DevServerFailed(code, `the Temporal development server ${what}\n${server.logTail()}`);
}
