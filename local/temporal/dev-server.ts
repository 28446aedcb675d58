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
  /** The SQLite file, made when missing. What it holds outlives the server. */
  databaseFile: string;
  /** Default: any free port. */
  port?: number;
  /** Without it there is no UI; 0 means any free port. */
  uiPort?: number;
  /** Made when missing. Default: `default`. */
  namespace?: string;
  /** More dynamic settings of the server; a value is JSON, so a text carries its quotes. */
  dynamicConfig?: Readonly<Record<string, string>>;
  /** Default: 30 s; it usually takes one. */
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
  /** Resolves when it has ended for whatever reason. */
  ended: Promise<void>;
  /** SIGTERM, then SIGKILL after 5 s. Resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL, as in a crash. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** The server could not be used: it ended early, or did not answer in time. The message has the end of its log. */
export class DevServerFailed extends FaretrailError<'DevServerEnded' | 'DevServerNotReady'> {
  override readonly name = 'DevServerFailed';
}

const ip = '127.0.0.1';
/**
 * The one shard of a development server does what hundreds do elsewhere, and by default it looks for work only 20 times
 * a second and fires retry timers up to a second late. A task queue in four parts would divide its rate limit among them:
 * an account of few requests per second would get less than that, and an urgent call wait for the turn of its part.
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
const attempts = 3; // a free port may be taken by the time the server opens it, and it picks five more by itself

/** Starts `temporal server start-dev` as our child and waits until it can be used. Throws `DevServerFailed`. */
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
