import type { Execution } from '../server/execution.js';
import { reset } from '../server/reset.js';
import type { World } from '../world/world.js';

/**
 * Resets a run to one of its workflow tasks. `which`: 0 for the first task, 1 for the last. Returns false if the run
 * has completed no task.
 */
export function resetTo({ namespace }: World, run: Execution, which: number): boolean {
  const ends = run.events.filter((event) => event.workflowTaskCompletedEventAttributes);
  const chosen = ends[Math.min(ends.length - 1, Math.floor(which * ends.length))];
  if (!chosen) return false;
  reset(namespace, run, Number(chosen.eventId), 'an operator');
  return true;
}
