import {
  type ActivityInput,
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  type Next,
  patched,
  sleep,
  type UpdateInput,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';

/*
 * No run closes in a task in which it has cancelled an activity or accepted an update. Temporal refuses to close a run
 * that has not seen all its events (UnhandledCommand): it fails the task and drops the updates in it. Such an event is
 * the end of an activity that no worker has started, which follows its cancellation at once; another is a signal that
 * arrives during the task. So the run first takes one more task, and only that one can be refused.
 */

declare global {
  /** Length of the history at the last task that the run must not close in. Each run has globals of its own. */
  var unsettledAt: number | undefined;
}

const noteUnsettled = (): void => {
  globalThis.unsettledAt = workflowInfo().historyLength;
};

const isUnsettled = (): boolean => globalThis.unsettledAt === workflowInfo().historyLength;

/**
 * Takes one more task if the run may not close in this one; otherwise it costs nothing. Await it before the last look
 * at the state for the next run, since signals may arrive meanwhile.
 */
export async function settle(): Promise<void> {
  while (isUnsettled() && patched('settle-before-close'))
    await CancellationScope.nonCancellable(() => sleep(1, { summary: 'Take one more task before the end' }));
}

type Inbound = WorkflowInboundCallsInterceptor;
type Outbound = WorkflowOutboundCallsInterceptor;

/** Notes what unsettles a task, and settles it when the main body of the run returns or throws. */
export const settling: Inbound & Outbound = {
  scheduleActivity(input: ActivityInput, next: Next<Outbound, 'scheduleActivity'>) {
    const answer = next(input);
    if (input.options.cancellationType === 'ABANDON') return answer;
    let isOpen = true;
    const end = (): void => {
      isOpen = false;
    };
    answer.then(end, end);
    CancellationScope.current().cancelRequested.catch(() => {
      if (isOpen) noteUnsettled();
    });
    return answer;
  },

  handleUpdate(input: UpdateInput, next: Next<Inbound, 'handleUpdate'>) {
    noteUnsettled();
    return next(input);
  },

  execute(input: WorkflowExecuteInput, next: Next<Inbound, 'execute'>) {
    const settleAll = async (): Promise<void> => {
      await settle();
      // Updates that came meanwhile get their answers.
      await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    };
    return next(input).then(
      (result) => (isUnsettled() ? settleAll().then(() => result) : result),
      (error: unknown) => {
        if (error instanceof ContinueAsNew || !isUnsettled()) throw error;
        return settleAll().then(() => {
          throw error;
        });
      },
    );
  },
};
