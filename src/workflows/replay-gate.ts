import { proxyActivities } from '@temporalio/workflow';
import type { ReplayActivities } from '../activities/replay.js';
import { parseNoInput } from '../domain/input-fields.js';
import { ownDelays } from './activity-options.js';
import { refuseBadInput } from './run-kit.js';

const { replayRunning } = proxyActivities<ReplayActivities>({
  summary: 'The histories of all running runs',
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: ownDelays,
});

/**
 * Completes if the worker that it runs on could go on with each running run: what Temporal's worker controller asks of a new version before
 * it gives it work. Takes no input. Fails with `DoesNotReplay` otherwise.
 */
export async function replayGate(rawInput?: unknown): Promise<{ replayed: number }> {
  refuseBadInput(() => parseNoInput(rawInput));
  return await replayRunning();
}
