import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject } from 'vitest';
import { nodeArgs } from '../../../dev/stack/run/node-args.js';
import { projectRoot } from '../../../dev/stack/temporal/project-root.js';
import type { WorkerEnv } from '../accounts.js';

/** A process of ours, as it is deployed. */
export type WorkerProcess = Awaited<ReturnType<typeof ready>>;
export type IngressProcess = WorkerProcess & { url: string };

/** Resolves when the worker polls. Rejects with its output when it ends before. `checkout`: the compiled checkout of another release. */
export const startWorkerProcess = (env: WorkerEnv, checkout?: string): Promise<WorkerProcess> =>
  ready('worker', { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_LOG_LEVEL: 'info', ...env }, checkout);

/** Resolves when the ingress listens, by default at any port. Rejects with its output when it ends before. */
export async function startIngressProcess(env: WorkerEnv): Promise<IngressProcess> {
  const ingress = await ready('ingress', { FARETRAIL_INGRESS_PORT: '0', ...env });
  const [, port] = /"port":(\d+)/.exec(ingress.output()) ?? [];
  return { ...ingress, url: `http://127.0.0.1:${port}` };
}

/** For an ingress that is to end by itself. */
export async function runIngressProcess(env: WorkerEnv): Promise<{ code: number | null; output: string }> {
  const { child, output } = launch('ingress', env);
  await once(child, 'close');
  return { code: child.exitCode, output: output() };
}

function launch(
  name: 'worker' | 'ingress',
  env: WorkerEnv,
  checkout?: string,
): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, nodeArgs(name, checkout), {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

async function ready(name: 'worker' | 'ingress', env: WorkerEnv, checkout?: string) {
  const { child, output } = launch(name, env, checkout);
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the ${name} ended before it was ready:\n${output()}`)));
    child.stdout?.on('data', () => {
      if (output().includes(`"msg":"${name} started"`)) resolve();
    });
  });
  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const closed = once(child, 'close'); // also all of its output was read
    child.kill(signal);
    await closed;
    return child.exitCode;
  }
  return {
    pid: child.pid,
    /** All that it has written so far. */
    output,
    /** Stops it where it is, or lets it go on. */
    signal: (signal: 'SIGSTOP' | 'SIGCONT') => void child.kill(signal),
    /** kill -9. */
    kill: async () => void (await end('SIGKILL')),
    /** Resolves to the exit code once it has drained. */
    stop: (signal: NodeJS.Signals = 'SIGTERM') => end(signal),
  };
}

/** What a program wrote, and how it ended. */
export interface Ended {
  code: number;
  output: string;
  errors: string;
}

/** Runs a program to its end, for at most a minute. Rejects where it cannot be run at all. */
export function runProgram(program: string, args: string[], env: WorkerEnv = {}): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env;
  const options = { env: { PATH, HOME, TZ: 'UTC', ...env }, timeout: 60_000 };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, output, errors) => {
      const code = error ? error.code : 0;
      if (typeof code === 'number') resolve({ code, output, errors });
      else reject(error);
    });
  });
}

/** Runs the command line as it is installed. */
export const runStarter = (args: string[], env: WorkerEnv): Promise<Ended> =>
  runProgram(process.execPath, [join(projectRoot, 'dist/src/starter.js'), ...args], env);
