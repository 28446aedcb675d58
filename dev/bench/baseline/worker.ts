import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type InjectedSinks,
  type NativeConnection,
  Worker,
} from '@temporalio/worker';
import type { WorkerConfig } from '../../../src/config.js';
import type { RideApi } from '../../../src/ride-api/ride-api.js';
import { cachedRuns } from '../../../src/temporal/workflow-code.js';
import { createTrackerActivities } from './activities.js';
import type { ChangeSinks } from './workflows.js';

/** What the plain tracker is made of; its HTTP client is that of the other side. */
export interface TrackerParts {
  config: WorkerConfig;
  rideApi: RideApi;
  connection: NativeConnection;
  codePath: string;
  now?: () => number;
  /** A bare workflow has handled a change of this order. */
  onHandled?: (orderId: string) => void;
}

/** The comparator: a plain tracker of orders, its worker tuned like ours, so that only the two designs differ. */
export function createTracker(parts: TrackerParts): Promise<Worker> {
  const { config, rideApi, connection, codePath, now, onHandled = () => undefined } = parts;
  const sinks: InjectedSinks<ChangeSinks> = { changes: { handled: { fn: (_info, orderId) => onHandled(orderId) } } };
  return Worker.create({
    sinks,
    connection,
    taskQueue: config.taskQueue,
    workflowBundle: { codePath },
    activities: createTrackerActivities({ accounts: config.accounts, rideApi, now: now ?? Date.now }),
    maxConcurrentWorkflowTaskExecutions: 200,
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    activityTaskPollerBehavior: { type: 'autoscaling' },
    shutdownGraceTime: 25_000,
    maxCachedWorkflows: cachedRuns(),
  });
}

/** The code of the tracker's workflows. */
export async function bundleTracker(): Promise<string> {
  const workflowsPath = fileURLToPath(new URL('./workflows.js', import.meta.url));
  return (await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })).code;
}
