import { randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { eventsOf } from './runs.js';

// What an operator does in the Temporal UI, by the calls that it makes.

const namespace = 'default';
const identity = 'operator';
const signals = 1; // RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL
const updates = 2; // RESET_REAPPLY_EXCLUDE_TYPE_UPDATE
const leftOut = { all: [], updates: [signals], nothing: [signals, updates] };

/** What is sent again to the run after a reset, of all that came later. */
export type Reapply = keyof typeof leftOut;

/** The tasks to which a run can be reset, as the ids of the events that ended them. */
export const resetPoints = async (run: Pick<WorkflowHandle, 'fetchHistory'>): Promise<number[]> =>
  (await eventsOf(run)).flatMap(({ eventId, workflowTaskCompletedEventAttributes: completed }) =>
    completed ? [Number(eventId)] : [],
  );

/** Resets a run to one of its tasks. Gives the id of the run that goes on there. */
export async function resetRun(
  { workflowService }: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
  eventId: number,
  reapply: Reapply = 'all',
): Promise<string> {
  const { runId: next } = await workflowService.resetWorkflowExecution({
    ...{ namespace, requestId: randomUUID(), reason: 'test', workflowExecution: { workflowId, runId } },
    workflowTaskFinishEventId: eventId as never,
    resetReapplyExcludeTypes: leftOut[reapply],
  });
  return next;
}

/** What can be done to an activity of a run that has not ended. */
export const activityActions = {
  reset: ({ workflowService }: Client, about: object) =>
    workflowService.resetActivity({ ...about, resetHeartbeat: true }),
  async pause({ workflowService }: Client, about: object) {
    await workflowService.pauseActivity({ ...about, reason: 'test' });
    return await workflowService.unpauseActivity({ ...about, resetAttempts: true, resetHeartbeat: true });
  },
  moreAttempts: ({ workflowService }: Client, about: object) =>
    workflowService.updateActivityOptions({
      ...about,
      activityOptions: { retryPolicy: { maximumAttempts: 10 } },
      updateMask: { paths: ['retry_policy.maximum_attempts'] },
    }),
} as const;

/** One of `activityActions`. */
export type ActivityAction = keyof typeof activityActions;

/** Does it to each pending activity of this type. */
export const actOn = (client: Client, workflowId: string, type: string, action: ActivityAction): Promise<unknown> =>
  activityActions[action](client, { namespace, identity, execution: { workflowId }, type });
