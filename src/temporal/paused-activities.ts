import { type FoundRun, msOf } from './runs.js';

/** An activity that an operator has paused, in the Temporal UI or with its command line. */
export interface PausedActivity {
  activityId: string;
  /** The name of the activity, `readOrder`. */
  type: string;
  /** Who paused it, as Temporal was told; a rule of the namespace is named by its id. */
  by: string;
  /** Empty if none was given. */
  reason: string;
  /** ISO instant. */
  since: string;
}

/** The paused activities of an open run. While one is paused, no attempt of it starts and no timeout of it comes. */
export const pausedActivities = ({ raw }: Pick<FoundRun, 'raw'>): PausedActivity[] =>
  (raw.pendingActivities ?? []).flatMap(({ activityId, activityType, paused, pauseInfo }) => {
    if (!paused) return [];
    const { manual, rule, pauseTime } = pauseInfo ?? {};
    const by = manual?.identity || rule?.identity || rule?.ruleId || 'somebody';
    return {
      activityId: activityId ?? '',
      type: activityType?.name ?? '',
      by,
      reason: manual?.reason || rule?.reason || '',
      since: new Date(msOf(pauseTime)).toISOString(),
    };
  });

/** Who paused it, and the command that lets it go on. */
export function pausedText(workflowId: string, { activityId, type, by, reason, since }: PausedActivity): string {
  const why = reason === '' ? '' : ` (${reason})`;
  return `${type} was paused by ${by} at ${since}${why}; let it go on: temporal activity unpause --workflow-id ${workflowId} --activity-id ${activityId}`;
}
