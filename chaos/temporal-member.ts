import { type DevServer, type DevServerOptions, startDevServer } from '../local/temporal/dev-server.js';
import type { Member } from './member.js';

/** The Temporal server as a member; what it has stored outlives it. */
export function createTemporalMember(options: DevServerOptions & { port: number }): Member {
  let server: DevServer | undefined;
  const signal = (name: NodeJS.Signals): void => {
    if (server) process.kill(server.pid, name);
  };
  return {
    name: 'temporal',
    async start() {
      server = await startDevServer(options);
    },
    isUp: async () => server !== undefined,
    async kill() {
      await server?.kill();
      server = undefined;
    },
    async stop() {
      await server?.stop();
      server = undefined;
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    output: () => Buffer.alloc(0),
    ownEnds: () => [],
  };
}
