import { Readable } from 'node:stream';
import { Worker } from '@temporalio/worker';
import { inject } from 'vitest';
import { toWorkerDataConverter } from '../../src/sealing/data-converter.js';
import { quietRuntime } from '../support/worker/runtime.js';

/** One worker that replays histories one after the other: to start one for each takes far longer than the replay. */
export interface Replayer {
  /** Rejects when today's workflows do not do what the history says. */
  replay(history: unknown, workflowId: string): Promise<void>;
  close(): Promise<void>;
}

/** Replays on the workflows as they are, or on those of the bundle at `codePath`. */
export function startReplayer(codePath = inject('workflowBundlePath')): Replayer {
  quietRuntime();
  const asked = new Readable({ objectMode: true, read: () => undefined });
  const waiting: ((error: Error | undefined) => void)[] = [];
  async function answer(): Promise<void> {
    const dataConverter = toWorkerDataConverter({ keys: null, encrypts: false });
    const options = { workflowBundle: { codePath }, dataConverter };
    for await (const { error } of Worker.runReplayHistories(options, asked)) waiting.shift()?.(error);
  }
  const answered = answer().catch((error: Error) => {
    for (const tell of waiting.splice(0)) tell(error);
  });
  return {
    replay: (history, workflowId) =>
      new Promise((resolve, reject) => {
        waiting.push((error) => (error ? reject(error) : resolve()));
        asked.push({ history, workflowId });
      }),
    async close() {
      asked.push(null);
      await answered;
    },
  };
}
