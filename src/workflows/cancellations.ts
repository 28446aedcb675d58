import {
  type ActivityInput,
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  type Next,
  patched,
  sleep,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';

// No run cancels an activity and closes in the same task. Temporal ends an activity that no worker has taken as soon as it is cancelled. That
// is an event the closing run has not seen, so Temporal refuses the task (UnhandledCommand), drops its updates, and may do so again and again.

declare global {
  /** Length of the history at the task in which this run last cancelled an activity. Each run has globals of its own. */
  var activityCancelledAt: number | undefined;
}

const isCancelledInThisTask = (): boolean => globalThis.activityCancelledAt === workflowInfo().historyLength;

/**
 * Gives Temporal a task with the cancellations of this run before the run closes or continues as new. Await it before the last look at the
 * state that the next run gets: signals may come meanwhile. Runs that cancel nothing at their end pay nothing.
 */
export async function settleCancellations(): Promise<void> {
  while (isCancelledInThisTask() && patched('cancel-before-close'))
    await CancellationScope.nonCancellable(() => sleep(1, { summary: 'Let Temporal end a cancelled activity' }));
}

type Inbound = WorkflowInboundCallsInterceptor;
type Outbound = WorkflowOutboundCallsInterceptor;

/** Notes each cancellation of an activity, and settles what is left when the main body of a run returns or throws. */
export const cancellations: Inbound & Outbound = {
  scheduleActivity(input: ActivityInput, next: Next<Outbound, 'scheduleActivity'>) {
    const answer = next(input);
    if (input.options.cancellationType === 'ABANDON') return answer;
    let isOpen = true;
    const end = (): void => {
      isOpen = false;
    };
    answer.then(end, end);
    CancellationScope.current().cancelRequested.catch(() => {
      if (isOpen) globalThis.activityCancelledAt = workflowInfo().historyLength;
    });
    return answer;
  },

  execute(input: WorkflowExecuteInput, next: Next<Inbound, 'execute'>) {
    const settle = async (): Promise<void> => {
      await settleCancellations();
      // Updates that came meanwhile get their answers.
      await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    };
    return next(input).then(
      (result) => (isCancelledInThisTask() ? settle().then(() => result) : result),
      (error: unknown) => {
        if (error instanceof ContinueAsNew || !isCancelledInThisTask()) throw error;
        return settle().then(() => {
          throw error;
        });
      },
    );
  },
};
