import { type ServerSettings, serverSettings, startDevServer } from '../stack/temporal/dev-server.js';
import { projectRoot } from '../stack/temporal/project-root.js';
import { runCommand } from '../stack/temporal/run-command.js';

/** A program that starts Temporal servers. Tuned (the default): with the settings of `dev/stack/temporal/dev-server.ts`. */
export interface ServerProgram {
  program: string;
  isTuned?: boolean;
}

/** The Temporal servers of a bench: a program that starts one for each part, or one running server for all. */
export type TemporalSource = ServerProgram | { address: string };

/** The server of one part. */
export interface BenchServer {
  address: string;
  /** Null if the server was given: it may run elsewhere. */
  pid: number | null;
  /** Where it shows its metrics; null if the server was given. */
  metricsUrl: string | null;
  /** Stops the server if it was started for this part. */
  stop(): Promise<void>;
}

/** Opens a server. `databaseFile` and `port` apply to one that it starts. */
export async function openServer(
  source: TemporalSource,
  options: { databaseFile: string; port?: number },
): Promise<BenchServer> {
  if (!('program' in source)) {
    return { address: source.address, pid: null, metricsUrl: null, stop: async () => undefined };
  }
  const started = await startDevServer({ ...options, ...source, metricsPort: 0 });
  const { address, pid, metricsUrl = null, stop } = started;
  return { address, pid, metricsUrl, stop };
}

/** What the figures of a bench depend on. */
export type ServerFacts = { version: string } & ServerSettings;

/** The version of the program and the settings of its servers. */
export async function serverFacts({ program, isTuned = true }: ServerProgram): Promise<ServerFacts> {
  const version = await runCommand(program, ['--version'], { cwd: projectRoot, timeLimitMs: 10_000 });
  return { version: version.trim(), ...serverSettings(isTuned) };
}

/** One paragraph for people. */
export function toText({ version, from, database, shards, pragmas, dynamicConfig }: ServerFacts): string {
  const list = (settings: ServerSettings['pragmas']): string =>
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}`)
      .join(', ') || 'none';
  return [
    `Temporal: ${version}, with ${from}`,
    `  database: ${database}, ${shards} history shard; pragmas: ${list(pragmas)}`,
    `  dynamic settings: ${list(dynamicConfig)}`,
  ].join('\n');
}
