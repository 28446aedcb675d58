import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { FaretrailError } from '../../../src/domain/errors.js';
import { nodeArgs } from './node-args.js';

/** The processes that the local stack starts as a deployment does. */
export type LocalProcessName = 'worker' | 'ingress';

/** A running process. */
export interface LocalProcess {
  logFile: string;
  /** Rejects if the process ends by itself. */
  ended: Promise<never>;
  /** Lets the process finish its work, and waits for its end. */
  stop(): Promise<void>;
}

const tailLines = 12;

/** Starts a process with its log in `folder`. Rejects with the end of the log if the process cannot start. */
export async function startLocalProcess(
  name: LocalProcessName,
  env: Record<string, string | undefined>,
  folder: string,
): Promise<LocalProcess> {
  const logFile = join(folder, `${name}.log`);
  const log = createWriteStream(logFile);
  // In its own process group, so that Ctrl-C reaches only the stack, which stops the processes in order.
  const child = spawn(process.execPath, nodeArgs(name), { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let tail: string[] = [];
  let isStopping = false;
  const started = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.pipe(log, { end: false });
      stream.on('data', (chunk: Buffer) => {
        tail = [...tail, ...chunk.toString().split('\n').filter(Boolean)].slice(-tailLines);
        if (chunk.includes(`${name} started`)) resolve();
      });
    }
  });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]): Promise<never> => {
    if (isStopping) return new Promise(() => undefined);
    throw new FaretrailError(
      'ProcessEnded',
      `the ${name} ended with exit code ${code}; the end of its log:\n${tail.join('\n')}`,
    );
  });
  process.once('exit', () => child.kill('SIGKILL'));
  await Promise.race([started, ended]);
  return {
    logFile,
    ended,
    async stop() {
      isStopping = true;
      child.kill('SIGTERM');
      await exited;
    },
  };
}
