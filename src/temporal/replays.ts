import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { DefaultLogger, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker';
import { pMapIterable, pMapSkip } from 'p-map';
import type { ReplayReport } from '../activities/index.js';
import { toWorkerDataConverter } from '../sealing/data-converter.js';
import type { PayloadEncryption } from '../sealing/payload-codec.js';
import { hasCode } from './run-errors.js';
import { runOf } from './runs.js';
import { bundlePath } from './workflow-code.js';
import { leanWorkflowThreads } from './workflow-threads.js';

type History = Parameters<typeof Worker.runReplayHistories>[1] extends AsyncIterable<infer One> | Iterable<infer _>
  ? One
  : never;

/** A run whose history does what today's workflows do, if `error` is null. */
export interface Replayed {
  workflowId: string;
  runId: string;
  /** What differs, or why its history cannot be read by the workflows. */
  error: string | null;
}

/** The SDK replays on the main thread, with a stack of each promise, unless it is told otherwise. The options have no types, but are taken. */
const onThread: object = { debugMode: false, isolateExecutionTimeout: 60_000 };
/** A thread takes some 50 MiB. */
const threads = Math.min(4, availableParallelism());
/** So many histories are fetched or replayed at a time, and no more are in memory. */
const atOnce = 4 * threads;
const fetchWithinMs = 30_000;

/**
 * Replays the runs of a list filter on the workflows of this build, in the order of the list. Changes nothing. Skips a run that Temporal has
 * removed meanwhile. Throws what the server says about the filter.
 */
export async function* replayRuns(
  client: Client,
  query: string,
  payloads: PayloadEncryption,
): AsyncGenerator<Replayed> {
  const replayers: Replayer[] = [];
  let options: ReplayWorkerOptions | undefined;
  let turn = 0;
  const replayOne = async ({ workflowId, runId }: { workflowId: string; runId: string }) => {
    const history = await fetchHistory(client, workflowId, runId);
    if (history === null) return pMapSkip;
    turn = (turn + 1) % threads;
    const former = replayers[turn];
    if (former?.isSpent() === false) return { workflowId, runId, error: await former.replay({ workflowId, history }) };
    options ??= prepareReplays(payloads);
    const next = startReplayer(options);
    replayers[turn] = next;
    const error = await next.replay({ workflowId, history });
    await former?.close(); // not before: with its last worker the SDK's runtime ends
    return { workflowId, runId, error };
  };
  try {
    yield* pMapIterable(client.workflow.list({ query }), replayOne, { concurrency: atOnce });
  } finally {
    await Promise.all(replayers.map((replayer) => replayer.close()));
  }
}

/** Only when there is a history: a process whose runtime of the SDK got no worker never ends, nor does one whose worker got no history. */
function prepareReplays(payloads: PayloadEncryption): ReplayWorkerOptions {
  // What does not replay is told by the result.
  const logging = { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } as const;
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined), telemetryOptions: { logging } });
  leanWorkflowThreads();
  return {
    workflowBundle: { codePath: bundlePath({ encodesFailures: payloads.encrypts }) },
    dataConverter: toWorkerDataConverter(payloads),
    ...onThread,
  };
}

/** The SDK (1.24.0) keeps a kilobyte of each history that a worker has replayed, so another one takes over after so many. */
const historiesEach = 2_000;

interface Replayer {
  isSpent(): boolean;
  /** Gives what differs, or null. */
  replay(one: History): Promise<string | null>;
  close(): Promise<void>;
}

/** Replays one history after the other, on a thread of its own. */
function startReplayer(options: ReplayWorkerOptions): Replayer {
  const asked = new PassThrough({ objectMode: true });
  let given = 0;
  const waiting: { tell(error: string | null): void; fail(error: unknown): void }[] = [];
  async function answer(): Promise<void> {
    for await (const { error } of Worker.runReplayHistories(options, asked))
      waiting.shift()?.tell(error === undefined ? null : error.message);
  }
  const answered = answer().catch((error: unknown) => {
    for (const { fail } of waiting.splice(0)) fail(error);
    asked.destroy();
  });
  return {
    isSpent: () => given >= historiesEach,
    replay: (one: History) =>
      new Promise((tell, fail) => {
        given += 1;
        waiting.push({ tell, fail });
        asked.write(one);
      }),
    async close(): Promise<void> {
      asked.end();
      await answered;
    },
  };
}

async function fetchHistory(client: Client, workflowId: string, runId: string): Promise<History['history'] | null> {
  try {
    return { events: await runOf(client, workflowId, runId).events({ withinMs: fetchWithinMs }) };
  } catch (error) {
    if (hasCode(error, 'NotFound')) return null;
    throw error;
  }
}

const command = fileURLToPath(new URL('../starter.js', import.meta.url));
const longestReport = 64 * 1024 * 1024;

/**
 * The command `replay` of this build with the settings of this process. A process of its own: it needs a runtime of the SDK that does not
 * log what differs, and its memory goes when it ends. Rejects when it ends without a report.
 */
export const replayAside = (signal: AbortSignal): Promise<ReplayReport> =>
  new Promise((resolve, reject) => {
    const options = { signal, maxBuffer: longestReport };
    execFile(process.execPath, [command, 'replay', '--json'], options, (error, report, told) => {
      if (report) resolve(JSON.parse(report));
      else reject(new Error(`the command replay has failed: ${told.trim() || error?.message}`));
    });
  });
