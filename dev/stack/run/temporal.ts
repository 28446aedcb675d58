import { join } from 'node:path';
import { findDevServer, startDevServer } from '../temporal/dev-server.js';
import { usualOrFreePort } from '../temporal/free-port.js';

/** A Temporal server: our own, or one that runs already. */
export interface LocalTemporal {
  address: string;
  uiUrl: string | undefined;
  /** Did the stack start the server? Then the stack sets it up. */
  isOurs: boolean;
  stop(): Promise<void>;
}

const usualPort = 7233;

/** Takes the server at `TEMPORAL_ADDRESS`. Default: starts our own server with a database in `folder`. */
export async function startTemporal(folder: string, say: (line: string) => void): Promise<LocalTemporal> {
  const address = process.env.TEMPORAL_ADDRESS;
  if (address) return { address, uiUrl: undefined, isOurs: false, stop: async () => undefined };
  const program = await findDevServer(say);
  const port = await usualOrFreePort(usualPort);
  // If the usual port is taken, a second stack may be running. Two servers must never share a database.
  const databaseFile = join(folder, port === usualPort ? 'temporal.db' : `temporal-${port}.db`);
  const uiPort = await usualOrFreePort(8233);
  const namespace = process.env.TEMPORAL_NAMESPACE || 'default';
  return { ...(await startDevServer({ program, namespace, databaseFile, port, uiPort })), isOurs: true };
}
