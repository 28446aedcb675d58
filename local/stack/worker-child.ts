import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FaretrailError } from '../../src/domain/errors.js';

const workerScript = fileURLToPath(new URL('../../src/worker.js', import.meta.url));
const tailLines = 12;

/** The worker process of the local stack. */
export interface LocalWorker {
  logFile: string;
  /** Rejects when the worker ends by itself. */
  ended: Promise<never>;
  /** Lets it finish its calls. */
  stop(): Promise<void>;
}

/** Starts the worker as it is deployed, with its log in `folder`. Rejects, with the end of the log, when it cannot start. */
export async function startWorker(env: Record<string, string | undefined>, folder: string): Promise<LocalWorker> {
  const logFile = join(folder, 'worker.log');
  const log = createWriteStream(logFile);
  // A process group of its own: Ctrl-C reaches us alone, and we stop it in order.
  const child = spawn(process.execPath, [workerScript], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let tail: string[] = [];
  let isStopping = false;
  const started = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.pipe(log, { end: false });
      stream.on('data', (chunk: Buffer) => {
        tail = [...tail, ...chunk.toString().split('\n').filter(Boolean)].slice(-tailLines);
        if (chunk.includes('worker started')) resolve();
      });
    }
  });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]): Promise<never> => {
    if (isStopping) return new Promise(() => undefined);
    throw new FaretrailError(
      'WorkerEnded',
      `the worker ended with exit code ${code}; the end of its log:\n${tail.join('\n')}`,
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
