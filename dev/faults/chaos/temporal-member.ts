import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DevServer, type DevServerOptions, startDevServer } from '../../stack/temporal/dev-server.js';
import { freePort } from '../../stack/temporal/free-port.js';
import type { Member } from './member.js';

/** Temporal as a part of a deployment, running. */
export interface TemporalSite {
  address: string;
  members: readonly Member[];
  /** All that it has stored. */
  readDatabase(): Promise<Buffer>;
  close(): Promise<void>;
}

/** Starts a development server with its database in the folder. */
export const openDevServer =
  (program: string) =>
  async (folder: string): Promise<TemporalSite> => {
    const databaseFile = join(folder, 'temporal.db');
    const port = await freePort();
    const server = createTemporalMember({ program, databaseFile, port });
    await server.start();
    const files = () => [databaseFile, `${databaseFile}-wal`].filter((file) => existsSync(file));
    return {
      address: `127.0.0.1:${port}`,
      members: [server],
      readDatabase: async () => Buffer.concat(files().map((file) => readFileSync(file))),
      close: () => server.kill(),
    };
  };

/** The Temporal server as a member. Its database outlives it. */
export function createTemporalMember(
  options: DevServerOptions & { port: number },
  startServer: (options: DevServerOptions) => Promise<DevServer> = startDevServer,
): Member {
  const ownEnds: { at: number; code: number | null }[] = [];
  let server: DevServer | undefined;
  const signal = (name: NodeJS.Signals): void => {
    if (server) process.kill(server.pid, name);
  };

  async function end(how: 'kill' | 'stop'): Promise<void> {
    const ending = server;
    server = undefined;
    await ending?.[how]();
  }

  return {
    name: 'temporal',
    async start() {
      const started = await startServer(options);
      server = started;
      void started.ended.then(() => {
        if (server !== started) return;
        server = undefined;
        ownEnds.push({ at: Date.now(), code: null });
      });
    },
    isUp: async () => server !== undefined,
    kill: () => end('kill'),
    stop: () => end('stop'),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    output: () => Buffer.alloc(0), // it logs only warnings, and the judge searches its database
    ownEnds: () => [...ownEnds],
    starts: () => [],
  };
}
