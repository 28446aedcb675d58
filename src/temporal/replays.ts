import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { DefaultLogger, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker';
import { pMapIterable, pMapSkip } from 'p-map';
import type { ReplayReport } from '../activities/index.js';
import { toWorkerDataConverter } from '../sealing/data-converter.js';
import type { PayloadEncryption } from '../sealing/payload-codec.js';
import { runOf } from './runs.js';
import { bundlePath } from './workflow-code.js';

/** A run whose history does what today's workflows do, if `error` is null. */
export interface Replayed {
  workflowId: string;
  runId: string;
  /** What differs, or why its history cannot be read by the workflows. */
  error: string | null;
}

/** So many histories are fetched at a time, and no more are in memory. */
const atOnce = 8;
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
  const fetchOne = async ({ workflowId, runId }: { workflowId: string; runId: string }) => {
    const events = await runOf(client, workflowId, runId).events({ withinMs: fetchWithinMs });
    return events ? { workflowId, runId, history: { events } } : pMapSkip;
  };
  const fetched = pMapIterable(client.workflow.list({ query }), fetchOne, { concurrency: atOnce });
  const histories = fetched[Symbol.asyncIterator]();
  // A process whose runtime of the SDK got no worker never ends, nor does one whose worker got no history.
  let next = await histories.next();
  if (next.done) return;
  const given: { workflowId: string; runId: string }[] = [];
  async function* feed() {
    for (; !next.done; next = await histories.next()) {
      given.push(next.value);
      yield next.value;
    }
  }
  for await (const { error } of Worker.runReplayHistories(prepareReplays(payloads), feed())) {
    const { workflowId = '', runId = '' } = given.shift() ?? {};
    yield { workflowId, runId, error: error?.message ?? null };
  }
}

function prepareReplays(payloads: PayloadEncryption): ReplayWorkerOptions {
  // What does not replay is told by the result.
  const logging = { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } as const;
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined), telemetryOptions: { logging } });
  return {
    workflowBundle: { codePath: bundlePath({ encodesFailures: payloads.encrypts }) },
    dataConverter: toWorkerDataConverter(payloads),
  };
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
