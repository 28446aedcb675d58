import type { Execution } from '../server/execution.js';
import { reset } from '../server/reset.js';
import type { World } from '../world/world.js';
import type { Reset } from './draws.js';

/** Resets a run to one of its workflow tasks. Returns false if it has completed none. */
export function resetTo({ namespace }: World, run: Execution, { which, leavesOut }: Reset): boolean {
  const ends = run.events.filter((event) => event.workflowTaskCompletedEventAttributes);
  const chosen = ends[Math.min(ends.length - 1, Math.floor(which * ends.length))];
  if (!chosen) return false;
  reset(namespace, run, { finishedId: Number(chosen.eventId), leavesOut }, 'an operator');
  return true;
}
