import { ApplicationFailure } from '@temporalio/common';

/** The failure that says why, behind whatever Temporal or Nexus wrapped around it; undefined where there is none. */
export function innermostFailure(error: unknown): ApplicationFailure | undefined {
  let found: ApplicationFailure | undefined;
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ApplicationFailure) found = at;
  return found;
}

/** The type of the failure that says why, such as `OrderNotFound`: what callers branch on. For workflow code, too. */
export const failureTypeOf = (error: unknown): string | undefined => innermostFailure(error)?.type ?? undefined;
