import { join } from 'node:path';
import { findDevServer, startDevServer } from '../temporal/dev-server.js';
import { usualOrFreePort } from '../temporal/free-port.js';

/** A Temporal server: our own, or one that runs already. */
export interface LocalTemporal {
  address: string;
  uiUrl: string | undefined;
  /** Did the stack start the server? Then the stack sets it up. */
  isOurs: boolean;
  pid?: number;
  stop(): Promise<void>;
}

const usualPort = 7233;

/** Takes the server at `TEMPORAL_ADDRESS`. Default: starts our own server with a database in `folder`. */
export async function startTemporal(folder: string, say: (line: string) => void): Promise<LocalTemporal> {
  const { TEMPORAL_ADDRESS: address = '' } = process.env;
  const program = address === '' ? await findDevServer(say) : null;
  process.umask(0o077); // what all parts write from now on holds orders and persons
  if (program === null) return { address, uiUrl: undefined, isOurs: false, stop: async () => undefined };
  const port = await usualOrFreePort(usualPort);
  const databaseFile = join(folder, 'temporal.db');
  const uiPort = await usualOrFreePort(8233);
  const namespace = process.env.TEMPORAL_NAMESPACE || 'default';
  return { ...(await startDevServer({ program, namespace, databaseFile, port, uiPort })), isOurs: true };
}
