import { type DevServer, type DevServerOptions, startDevServer } from '../local/temporal/dev-server.js';
import type { Member } from './member.js';

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
