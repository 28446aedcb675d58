import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Lets out of an activity only errors that the SDK can look at: it reads their parts before the failure converter is asked, and
 * an error there ends the whole worker.
 */
export const containErrors: ActivityInterceptorsFactory = () => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        throw isReadable(error)
          ? error
          : ApplicationFailure.create({ message: 'Something was thrown that is no error.' });
      }
    },
  },
});

function isReadable(error: unknown): boolean {
  try {
    const { message, stack, name, cause: _cause, constructor: maker } = error as Error;
    return [message, stack, name, maker?.name].every((part) => part === undefined || typeof part === 'string');
  } catch {
    return false;
  }
}
