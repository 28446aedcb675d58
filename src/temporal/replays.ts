import type { Client } from '@temporalio/client';
import { DefaultLogger, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker';
import { pMapIterable, pMapSkip } from 'p-map';
import { toWorkerDataConverter } from '../sealing/data-converter.js';
import type { PayloadEncryption } from '../sealing/payload-codec.js';
import { hasCode } from './run-errors.js';
import { runOf } from './runs.js';
import { bundlePath } from './workflow-code.js';
import { leanWorkflowThreads } from './workflow-threads.js';

type Replay = Parameters<typeof Worker.runReplayHistories>[1] extends AsyncIterable<infer One> | Iterable<infer _>
  ? One
  : never;

/** A run whose history does what today's workflows do, if `error` is null. */
export interface Replayed {
  workflowId: string;
  runId: string;
  /** What differs, or why its history cannot be read by the workflows. */
  error: string | null;
}

/** So many histories are fetched ahead of the replay, and no more are in memory. */
const fetchedAhead = 8;
const fetchWithinMs = 30_000;

/**
 * Replays the runs of a list filter on the workflows of this build, one after the other, as the server hands over their histories. Changes
 * nothing. Skips a run that Temporal has removed meanwhile. Throws what the server says about the filter.
 */
export async function* replayRuns(
  client: Client,
  query: string,
  payloads: PayloadEncryption,
): AsyncGenerator<Replayed> {
  // What does not replay is told by the result.
  const logging = { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } as const;
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined), telemetryOptions: { logging } });
  leanWorkflowThreads();
  const options: ReplayWorkerOptions = {
    workflowBundle: { codePath: bundlePath({ encodesFailures: payloads.encrypts }) },
    dataConverter: toWorkerDataConverter(payloads),
  };
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(options, historiesOf(client, query)))
    yield { workflowId, runId, error: error === undefined ? null : error.message };
}

const historiesOf = (client: Client, query: string): AsyncIterable<Replay> =>
  pMapIterable(
    client.workflow.list({ query }),
    async ({ workflowId, runId }) => (await fetchHistory(client, workflowId, runId)) ?? pMapSkip,
    { concurrency: fetchedAhead },
  );

async function fetchHistory(client: Client, workflowId: string, runId: string): Promise<Replay | null> {
  try {
    return {
      workflowId,
      history: { events: await runOf(client, workflowId, runId).events({ withinMs: fetchWithinMs }) },
    };
  } catch (error) {
    if (hasCode(error, 'NotFound')) return null;
    throw error;
  }
}
