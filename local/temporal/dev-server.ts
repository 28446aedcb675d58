import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { FaretrailError } from '../../src/domain/errors.js';
import { searchAttributeNames } from '../../src/domain/search-attribute-names.js';
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
 * few requests per second would get fewer, and an urgent call would wait for its partition.
 */
const smallServerSettings: Readonly<Record<string, string>> = {
  'history.transferProcessorMaxPollRPS': '2000',
  'history.transferProcessorMaxPollHostRPS': '2000',
  'history.timerProcessorMaxPollRPS': '2000',
  'history.timerProcessorMaxPollHostRPS': '2000',
  'history.timerProcessorMaxTimeShift': '"10ms"',
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
};
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
  const namespace = options.namespace ?? 'default';
  const address = `${ip}:${port}`;
  const server = await startServerProcess(options.program, commandLine(options, { port, uiPort, namespace }));
  await readyOrFailed(server, { address, namespace, withinMs: options.readyWithinMs ?? readyByDefaultMs });
  const { pid, ended, stop, kill } = server;
  const uiUrl = uiPort === undefined ? undefined : `http://${ip}:${uiPort}`;
  return { address, namespace, uiUrl, pid, databaseFile: options.databaseFile, ended, stop, kill };
}

interface Chosen {
  port: number;
  uiPort: number | undefined;
  namespace: string;
}

function commandLine(options: DevServerOptions, { port, uiPort, namespace }: Chosen): string[] {
  const settings = Object.entries({ ...smallServerSettings, ...options.dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', ip, '--port', String(port), '--namespace', namespace, '--log-level', 'warn'],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...['--db-filename', options.databaseFile],
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
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
