import { startDevServer } from '../local/temporal/dev-server.js';

/** The Temporal servers of a bench: a program that starts one for each part, or one running server for all. */
export type TemporalSource = { program: string } | { address: string };

/** The server of one part. */
export interface BenchServer {
  address: string;
  /** Null if the server was given: it may run elsewhere. */
  pid: number | null;
  /** Stops the server if it was started for this part. */
  stop(): Promise<void>;
}

/** Opens a server. `databaseFile` and `port` apply to one that it starts. */
export async function openServer(
  source: TemporalSource,
  options: { databaseFile: string; port?: number },
): Promise<BenchServer> {
  if ('program' in source) return await startDevServer({ ...options, program: source.program });
  return { address: source.address, pid: null, stop: async () => undefined };
}
