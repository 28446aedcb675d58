import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeArgs, nodeFlags } from '../stack/run/node-args.js';
import { freePort } from '../stack/temporal/free-port.js';
import { projectRoot } from '../stack/temporal/project-root.js';

export interface IngressProcess {
  port: number;
  pid: number;
  /** The value of a metric, summed over its labels; 0 before its first value. */
  metric(name: string): Promise<number>;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<void>;
  /** Sends SIGKILL, as in a crash. */
  kill(): Promise<void>;
}

/** Our ingress, and the bare route for comparison. */
export type IngressKind = 'faretrail' | 'bare';

/** The bare route gets the same flags as our ingress, so that only the code differs. */
const argv: Record<IngressKind, readonly string[]> = {
  faretrail: nodeArgs('ingress'),
  bare: [...nodeFlags.ingress, join(projectRoot, 'dist/dev/bench/baseline/bare-ingress.js')],
};
const startLimitMs = 60_000;

/** Starts a webhook endpoint in its own process, and waits until it answers. Default: any free port. */
export async function startIngressProcess(
  kind: IngressKind,
  env: Record<string, string>,
  port = 0,
): Promise<IngressProcess> {
  return await startAt(kind, env, port || (await freePort()));
}

async function startAt(kind: IngressKind, env: Record<string, string>, port: number): Promise<IngressProcess> {
  const ports = { FARETRAIL_INGRESS_PORT: String(port), BENCH_PORT: String(port) };
  const child = spawn(process.execPath, argv[kind], {
    env: { PATH: process.env.PATH, TZ: 'UTC', ...env, ...ports },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + startLimitMs;
  for (;;) {
    const isUp = await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    if (Date.now() > deadline || child.exitCode !== null) throw new Error('a webhook endpoint did not start');
    await sleep(50);
  }
  return {
    port,
    pid: child.pid ?? 0,
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
      return values.reduce((sum, [, value]) => sum + Number(value), 0);
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
