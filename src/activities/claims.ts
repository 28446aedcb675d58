import { activityInfo } from '@temporalio/activity';

/** Names a run. */
export interface RunName {
  workflowId: string;
  runId: string;
}

/** What may happen once in the life of a run, whatever an operator resets. */
export interface Claims {
  /**
   * Writes the claim into the history of the run, and says whether it is the first of this name there, and in the runs that it was reset
   * from. Only then may the caller do what it claims. Rejects while Temporal does not answer, or has not recorded the claim.
   */
  take(run: RunName, name: string): Promise<boolean>;
  /** The same for what a run that was reset must not do by itself, but for the update of this id that was sent to it after the reset.
   *  Claims of one name by the same `by`, if given, are one. */
  takeAsked(run: RunName, name: string, updateId: string | null, by?: string): Promise<boolean>;
}

/** The run of the activity under way. */
export function runOfActivity(): RunName {
  const { workflowExecution } = activityInfo();
  if (!workflowExecution) throw new Error('this activity belongs to a run');
  return workflowExecution;
}
