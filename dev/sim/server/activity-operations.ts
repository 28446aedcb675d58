// Operator actions on a pending activity (service/history/workflow/activity.go).
import { offer } from './activities.js';
import type { Execution, PendingActivity } from './execution.js';
import type { Namespace } from './namespace.js';

/** An attempt that runs goes on, and learns of the pause by a heartbeat. No other one starts. */
export function pauseActivity(activity: PendingActivity): void {
  if (activity.isPaused) return;
  if (activity.state !== 'started') activity.stamp += 1;
  activity.isPaused = true;
}

/** The next attempt starts at once, unless one runs. */
export function unpauseActivity(namespace: Namespace, execution: Execution, activity: PendingActivity): void {
  if (!activity.isPaused) return;
  activity.isPaused = false;
  startAgain(namespace, execution, activity);
}

/**
 * Makes the next attempt the first one, and ends a pause. An attempt that runs is the first one now: if it was another
 * one, the server no longer knows it, and waits until it times out.
 */
export function resetActivity(namespace: Namespace, execution: Execution, activity: PendingActivity): void {
  activity.attempt = 1;
  activity.isReset = true;
  if (activity.state === 'started') return;
  activity.isPaused = false;
  startAgain(namespace, execution, activity);
}

function startAgain(namespace: Namespace, execution: Execution, activity: PendingActivity): void {
  activity.stamp += 1;
  if (activity.state === 'started') return;
  activity.lastFailure = null;
  activity.isReset = false;
  offer(namespace, execution, activity);
}
