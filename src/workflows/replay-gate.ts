import { proxyActivities } from '@temporalio/workflow';
import type { ReplayActivities } from '../activities/replay.js';
import { ownDelays } from './activity-options.js';

const { replayRunning } = proxyActivities<ReplayActivities>({
  summary: 'The histories of all running runs',
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: ownDelays,
});

/**
 * Completes if the worker that it runs on could go on with each running run: what Temporal's worker controller asks of a new version before
 * it gives it work. Fails with `DoesNotReplay` otherwise.
 */
export async function replayGate(): Promise<{ replayed: number }> {
  return await replayRunning();
}
