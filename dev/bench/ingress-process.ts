import { join } from 'node:path';
import { nodeArgs, nodeFlags } from '../stack/run/node-args.js';
import { answersAt } from '../stack/run/until.js';
import { freePort } from '../stack/temporal/free-port.js';
import { projectRoot } from '../stack/temporal/project-root.js';
import { type ServerProcess, startServerProcess } from '../stack/temporal/server-process.js';

export interface IngressProcess extends Pick<ServerProcess, 'pid' | 'stop' | 'kill'> {
  port: number;
  /** The value of a metric, summed over its labels; 0 before its first value. */
  metric(name: string): Promise<number>;
}

/** Our ingress, and the bare route for comparison. */
export const ingressKinds = ['faretrail', 'bare'] as const;
export type IngressKind = (typeof ingressKinds)[number];

/** The bare route gets the same flags as our ingress, so that only the code differs. */
const argv: Record<IngressKind, readonly string[]> = {
  faretrail: nodeArgs('ingress'),
  bare: [...nodeFlags.ingress, join(projectRoot, 'dist/dev/bench/baseline/bare-ingress.js')],
};

/** Starts a webhook endpoint in its own process, and waits until it answers. Default: any free port. */
export async function startIngressProcess(
  kind: IngressKind,
  env: Record<string, string>,
  givenPort = 0,
): Promise<IngressProcess> {
  const port = givenPort || (await freePort());
  const ports = { FARETRAIL_INGRESS_PORT: String(port), BENCH_PORT: String(port) };
  const url = `http://127.0.0.1:${port}`;
  const { pid, stop, kill } = await startServerProcess(process.execPath, argv[kind], {
    env: { PATH: process.env.PATH, TZ: 'UTC', ...env, ...ports },
    isUp: () => answersAt(`${url}/healthz`),
    stopWithinMs: 60_000,
  });
  return {
    ...{ port, pid, stop, kill },
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
      return values.reduce((sum, [, value]) => sum + Number(value), 0);
    },
  };
}
