import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { devServerArgs, devServerReadiness } from '../../stack/temporal/dev-server.js';
import { freePort } from '../../stack/temporal/free-port.js';
import { createMember, type Member, whenUp } from './member.js';

/** Temporal as a part of a deployment, running. */
export interface TemporalSite {
  address: string;
  members: readonly Member[];
  /** All that it has stored. */
  readDatabase(): Promise<Buffer>;
  close(): Promise<void>;
}

const upWithinMs = 60_000;

/** Starts a development server with its database in the folder. The database outlives the server. */
export const openDevServer =
  (program: string) =>
  async (folder: string): Promise<TemporalSite> => {
    const databaseFile = join(folder, 'temporal.db');
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const readiness = devServerReadiness(address);
    const argv = devServerArgs({ databaseFile, port });
    const launch = () => ({ program, argv, env: {} });
    const server = createMember({ name: 'temporal', launch, folder, isUp: readiness.isReady });
    await server.start();
    await whenUp(server, upWithinMs);
    const files = () => [databaseFile, `${databaseFile}-wal`].filter((file) => existsSync(file));
    return {
      address,
      members: [server],
      readDatabase: async () => Buffer.concat(files().map((file) => readFileSync(file))),
      async close() {
        await server.kill();
        await readiness.close();
      },
    };
  };
