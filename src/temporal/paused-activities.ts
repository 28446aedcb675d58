import { shellWord } from '../domain/shell-word.js';
import { type FoundRun, msOf } from './runs.js';

/** An activity that an operator has paused, in the Temporal UI or with its command line. */
export interface PausedActivity {
  activityId: string;
  /** The name of the activity, `readOrder`. */
  type: string;
  /** The identity that Temporal recorded; for a pause by a rule of the namespace, its author or its id. */
  by: string;
  /** Empty if none was given. */
  reason: string;
  /** ISO instant. */
  since: string;
}

/**
 * The paused activities of an open run. A paused activity starts no attempt, and server 1.31.2 fires none of its
 * timeouts.
 */
export const pausedActivities = ({ raw }: Pick<FoundRun, 'raw'>): PausedActivity[] =>
  (raw.pendingActivities ?? []).flatMap(({ activityId, activityType, paused, pauseInfo }) => {
    if (!paused) return [];
    const { manual, rule, pauseTime } = pauseInfo ?? {};
    const by = manual?.identity || rule?.identity || rule?.ruleId || 'an unknown person';
    return {
      activityId: activityId ?? '',
      type: activityType?.name ?? '',
      by,
      reason: manual?.reason || rule?.reason || '',
      since: new Date(msOf(pauseTime)).toISOString(),
    };
  });

/** The command that resumes the activity, word by word. */
export const unpauseCommand = (workflowId: string, { activityId }: PausedActivity): string[] => [
  'temporal',
  'activity',
  'unpause',
  '--workflow-id',
  workflowId,
  '--activity-id',
  activityId,
];

/** Who paused the activity, and the command that resumes it. */
export function pausedText(workflowId: string, paused: PausedActivity): string {
  const { type, by, reason, since } = paused;
  const why = reason === '' ? '' : ` (${reason})`;
  const command = unpauseCommand(workflowId, paused).map(shellWord).join(' ');
  return `${type} was paused by ${by} at ${since}${why}; to resume it: ${command}`;
}
