import { startDevServer } from '../local/temporal/dev-server.js';

/** Where the Temporal servers of a bench come from: a program to start one anew for each part, or one that runs for all. */
export type TemporalSource = { program: string } | { address: string };

/** A server as a part of a bench sees it. */
export interface BenchServer {
  address: string;
  /** Ends what was started for this part, and nothing else. */
  stop(): Promise<void>;
}

/** `databaseFile` and `port` are of a server that is started. */
export async function openServer(
  source: TemporalSource,
  options: { databaseFile: string; port?: number },
): Promise<BenchServer> {
  if ('program' in source) return await startDevServer({ ...options, program: source.program });
  return { address: source.address, stop: async () => undefined };
}
