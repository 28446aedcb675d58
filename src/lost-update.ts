import { isGrpcServiceError } from '@temporalio/client';

const failedPrecondition = 9;
const attempts = 5;

/**
 * Sends an update again that the server lost: when something happens to a run in the very moment in which it ends or
 * continues as new, the server takes that step back and refuses the update that came with it, before the run has seen it.
 */
export async function repeatWhenLost<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!isLost(error) || attempt === attempts) throw error;
    }
  }
}

function isLost(error: unknown): boolean {
  const answer = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  return (
    isGrpcServiceError(answer) && answer.code === failedPrecondition && /workflow task failure/.test(answer.details)
  );
}
