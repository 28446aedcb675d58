import type { FollowOrderInput } from './follow-input.js';
import type { Notify } from './notify.js';
import type { OrderTrail } from './trail.js';
import type { FollowOrderKey } from './workflow-ids.js';

/** What makes an order be followed, by whichever run does it. */
export interface StartFollowingInput {
  /** Counts only where nobody follows the order yet. */
  input: FollowOrderInput;
  /** Told of changes, also by a run that is there already. */
  receivers: Notify[];
}

/** What waits for the end of the run that follows an order. */
export interface AwaitFollowedInput extends FollowOrderKey {
  /** The run has told of its end, so it closes any moment. */
  isEndTold: boolean;
}

/** How the run that followed an order ended. `type` is that of its failure; `NotFollowed`: somebody ended the run. */
export type FollowedEnd = { kind: 'trail'; trail: OrderTrail } | { kind: 'failed'; type: string; message: string };

/** The run of an order tells each change by a signal, so this only finds what no signal tells: a run that failed. */
export function followedPaceMs(isEndTold: boolean, attempt: number): number {
  if (isEndTold) return Math.min(100 * 2 ** attempt, 60_000);
  return attempt === 1 ? 5_000 : 60_000;
}
