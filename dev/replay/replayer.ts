import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type InjectedSinks, type Logger, Worker, type WorkerOptions } from '@temporalio/worker';
import { converterPaths, toWorkerDataConverter } from '../../src/sealing/data-converter.js';
import { type Command, type Deeds, sentDeeds } from './deeds.js';
import type { ReplaySinks } from './recorder.js';

/** What a run did in its replay, if its bundle has our recorder. */
export interface Replayed {
  deeds: Deeds;
  /** The mutants that it met. */
  reached: Set<string>;
}

/** One worker that replays histories one after the other: to start one for each takes far longer than the replay. */
export interface Replayer {
  /** Rejects when the workflows do not do what the history says. */
  replay(history: unknown, workflowId: string): Promise<Replayed>;
  close(): Promise<void>;
}

export function startReplayer(workflowBundle: NonNullable<WorkerOptions['workflowBundle']>): Replayer {
  const asked = new Readable({ objectMode: true, read: () => undefined });
  const waiting: ((error: Error | undefined) => void)[] = [];
  let activations: Command[][] = [];
  let reached = new Set<string>();
  let queue = '';
  const sinks: InjectedSinks<ReplaySinks> = {
    replay: {
      concluded: {
        callDuringReplay: true,
        fn({ taskQueue }, commands) {
          activations.push(commands as Command[]);
          queue = taskQueue;
        },
      },
      reached: { callDuringReplay: true, fn: (_, mutants) => void mutants.map((mutant) => reached.add(mutant)) },
    },
  };
  async function answer(): Promise<void> {
    const dataConverter = toWorkerDataConverter({ keys: null, encrypts: false });
    const options = { workflowBundle, dataConverter, sinks };
    for await (const { error } of Worker.runReplayHistories(options, asked)) waiting.shift()?.(error);
  }
  const answered = answer().catch((error: Error) => {
    for (const tell of waiting.splice(0)) tell(error);
  });
  return {
    replay: (history, workflowId) =>
      new Promise((resolve, reject) => {
        waiting.push((error) => {
          const replayed = { deeds: sentDeeds(activations, queue), reached };
          activations = [];
          reached = new Set();
          if (error) reject(error);
          else resolve(replayed);
        });
        asked.push({ history, workflowId });
      }),
    async close() {
      asked.push(null);
      await answered;
    },
  };
}

const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The workflows of a checkout with our recorder, as one script. */
export async function bundleRecorded(root: string, logger: Logger): Promise<string> {
  const workflowsPath = `${root}/src/workflows/index.ts`;
  const workflowInterceptorModules = [`${root}/src/workflows/interceptors`, beside('./recorder')];
  const converters = converterPaths({ encodesFailures: false });
  const preloadModules = [workflowsPath, ...workflowInterceptorModules, ...Object.values(converters)];
  const options = { workflowsPath, preloadModules, workflowInterceptorModules, logger, ...converters };
  return (await bundleWorkflowCode(options)).code;
}
