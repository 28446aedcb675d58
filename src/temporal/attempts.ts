import type { Client } from '@temporalio/client';
import type { AttemptPlace } from '../activities/index.js';
import { msOf, runOf } from './runs.js';

const withinMs = 5_000;

/** Makes a reader of when the server handed out the attempt of a pending activity. Rejects when Temporal does not answer. */
export const createAttemptReader =
  (client: Client) =>
  async ({ workflowId, runId, activityId }: AttemptPlace): Promise<number | undefined> => {
    const found = await runOf(client, workflowId, runId).find({ withinMs });
    const pending = found?.raw.pendingActivities?.find((one) => one.activityId === activityId);
    return pending?.lastStartedTime ? msOf(pending.lastStartedTime) : undefined;
  };
