import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { plainFailure } from './failures.js';

/** What the command `replay` has found. */
export interface ReplayReport {
  replayed: number;
  failed: readonly { workflowId: string; error: string }[];
}

/** Replays all that runs on the workflows of this build, until `signal` is aborted. Rejects when that cannot be found out. */
type ReplayPort = (signal: AbortSignal) => Promise<ReplayReport>;

/** The activity behind `replayGate`, as workflows see it. */
export type ReplayActivities = ReturnType<typeof createReplayActivities>;

const heartbeatEveryMs = 5_000;
/** A failure is kept in the history, and `replay` lists them all. */
const mostNamed = 10;

/** See `ReplayActivities`. */
export const createReplayActivities = ({ replay }: { replay: ReplayPort }) => ({
  /** Fails for good where a run does not replay. */
  async replayRunning(): Promise<{ replayed: number }> {
    const beats = setInterval(heartbeat, heartbeatEveryMs);
    try {
      return judge(await replay(cancellationSignal()));
    } finally {
      clearInterval(beats);
    }
  },
});

function judge({ replayed, failed }: ReplayReport): { replayed: number } {
  if (failed.length === 0) return { replayed };
  const names = failed.slice(0, mostNamed).map(({ workflowId }) => workflowId);
  const message = `${failed.length} of ${replayed} runs do not replay: ${names.join(', ')}`;
  throw plainFailure({ type: 'DoesNotReplay', nonRetryable: true, message });
}
