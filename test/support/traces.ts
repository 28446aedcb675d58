import { readFile } from 'node:fs/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Fleet } from './worker/fleet.js';

interface Places {
  databaseFile: string;
  metricsPort: number;
}

/** Everything that the runs of a fleet leave behind, by its place: a history by the id of its workflow. */
export async function tracesOf(
  { client, env, workers }: Fleet,
  { databaseFile, metricsPort }: Places,
): Promise<Record<string, Buffer>> {
  const files = [databaseFile, `${databaseFile}-wal`].map((file) => readFile(file).catch(() => Buffer.alloc(0)));
  const texts: Record<string, Buffer> = {
    database: Buffer.concat(await Promise.all(files)),
    metrics: Buffer.from(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()),
    logs: Buffer.from(workers.map((worker) => worker.output()).join('\n')),
  };
  const query = `TaskQueue = "${env.FARETRAIL_TASK_QUEUE}"`;
  for await (const { workflowId, runId, memo } of client.workflow.list({ query })) {
    const history = historyToJSON(await client.workflow.getHandle(workflowId, runId).fetchHistory());
    texts[workflowId] = Buffer.from(history);
    texts[`memo of ${workflowId}`] = Buffer.from(JSON.stringify(memo ?? {}));
  }
  return texts;
}
