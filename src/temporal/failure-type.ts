import { ApplicationFailure } from '@temporalio/common';

/** The innermost failure of ours, within the errors of Temporal or Nexus around it; undefined where there is none. */
export function innermostFailure(error: unknown): ApplicationFailure | undefined {
  let found: ApplicationFailure | undefined;
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ApplicationFailure) found = at;
  return found;
}

/** The type of that failure, such as `OrderNotFound`: callers branch on it. For workflow code, too. */
export const failureTypeOf = (error: unknown): string | undefined => innermostFailure(error)?.type ?? undefined;
