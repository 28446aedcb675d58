import { randomBytes, randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';
import { type AccountExtra, type WorkerEnv, workerEnv } from '../accounts.js';

/** The versions of one deployment, which share a task queue and keys. */
export function newDeployment() {
  const deploymentName = `rides-${randomUUID()}`;
  const shared: WorkerEnv = {
    FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
    FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
  };
  return {
    name: deploymentName,
    taskQueue: shared.FARETRAIL_TASK_QUEUE ?? '',
    /** The environment of workers without a version. */
    unversioned: shared,
    version: (buildId: string, sandboxUrl: string, accounts: AccountExtra = {}): WorkerEnv => ({
      ...workerEnv(sandboxUrl, shared, accounts),
      TEMPORAL_DEPLOYMENT_NAME: deploymentName,
      TEMPORAL_WORKER_BUILD_ID: buildId,
    }),
    /** As `temporal worker deployment set-current-version` does. A version is known once its workers have polled. */
    async makeCurrent({ workflowService }: Client, buildId: string, options: { ignoreMissingTaskQueues?: true } = {}) {
      const set = () =>
        workflowService
          .setWorkerDeploymentCurrentVersion({ namespace: 'default', deploymentName, buildId, ...options })
          .then(
            () => 'set',
            ({ message }: Error) => message,
          );
      await expect.poll(set).toBe('set');
    },
    /** The open runs of a version, for visibility. */
    runsOn: (buildId: string): string =>
      `TemporalWorkerDeploymentVersion = "${deploymentName}:${buildId}" AND ExecutionStatus = "Running"`,
  };
}

/** The version that did the last task of a run; empty: a worker without one. */
export async function versionOf(handle: Pick<WorkflowHandle, 'describe'>): Promise<string> {
  const { raw } = await handle.describe();
  return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? '';
}
