import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { inject } from 'vitest';
import { nodeArgs } from '../../../local/stack/node-args.js';
import type { WorkerEnv } from '../accounts.js';

/** A worker in a process of its own, as it is deployed. */
export interface WorkerProcess {
  /** All that it has written so far. */
  output(): string;
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM; resolves to the exit code once it has drained. */
  stop(): Promise<number | null>;
}

/** Resolves when the worker polls. Rejects with its output when it ends before. */
export async function startWorkerProcess(env: WorkerEnv): Promise<WorkerProcess> {
  const inherited = { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC' };
  const child = spawn(process.execPath, nodeArgs('worker'), {
    env: { ...inherited, TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await whenReady(child, () => output);
  return {
    output: () => output,
    async kill() {
      await end(child, 'SIGKILL');
    },
    stop: () => end(child, 'SIGTERM'),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const closed = once(child, 'close'); // also all of its output was read
  child.kill(signal);
  await closed;
  return child.exitCode;
}

function whenReady(child: ChildProcess, output: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the worker ended before it was ready:\n${output()}`)));
    child.stdout?.on('data', () => {
      if (output().includes('worker started')) resolve();
    });
  });
}
