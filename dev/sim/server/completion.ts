// The end of a workflow task (service/history/api/respondworkflowtaskcompleted).
import type { ProtoFailure } from '@temporalio/common';
import type { Command } from '../sdk/activation.js';
import { carryOut } from './commands.js';
import type { Execution, Poller, StartedTask, WorkflowTask } from './execution.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import {
  endAttempt,
  failedCauses,
  scheduleTask,
  startTask,
  writeFailed,
  writeScheduled,
  writeStarted,
} from './scheduling.js';

/** What a worker has done. False: too late, and without effect. */
export function completeTask(
  namespace: Namespace,
  { execution, number }: StartedTask,
  poller: Poller,
  commands: readonly Command[],
): boolean {
  const { task, history, updates } = execution;
  if (!task || task.number !== number) return false;
  execution.sticky = poller;
  if (isOnlyRefusal(task, commands)) {
    execution.task = null;
    for (const command of commands) carryOut(namespace, execution, command, 0);
    goOn(namespace, execution);
    return true;
  }
  if (closes(commands) && history.hasBuffered && !commands.some(takesBack(execution))) {
    failByServer(namespace, execution, task);
    return true;
  }
  if (!task.isWritten) {
    writeScheduled(execution, task);
    writeStarted(execution, task);
  }
  const startedEventId = longOf(task.startedId);
  const completedId = history.write(
    'workflowTaskCompleted',
    { scheduledEventId: longOf(task.scheduledId), startedEventId, identity: poller.identity },
    namespace.scheduler.now,
  );
  execution.attempt = 1;
  execution.closeAttempted = false;
  for (const command of commands) carryOut(namespace, execution, command, completedId);
  execution.task = null;
  if (execution.isOpen) updates.rejectUnprocessed();
  goOn(namespace, execution);
  return true;
}

/** After a task: the next one at once, on the same worker, if something has come meanwhile. */
function goOn(namespace: Namespace, execution: Execution): void {
  if (!execution.isOpen) return;
  const { sticky } = execution;
  if (execution.history.hasBuffered) scheduleTask(namespace, execution);
  else if (execution.updates.isAnyAdmitted) scheduleTask(namespace, execution, { isSpeculative: true });
  else return;
  if (sticky && !namespace.matching.isGone(sticky)) startTask(namespace, execution, sticky);
}

const ends = [
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
];
export const closes = (commands: readonly Command[]): boolean =>
  commands.some((command) => ends.some((end) => end in command));

/** Does this command cancel the timer whose firing is all that has come? */
const takesBack =
  (execution: Execution) =>
  (command: Command): boolean => {
    const { seq } = (command.cancelTimer ?? {}) as { seq?: number };
    return (
      seq !== undefined && execution.history.holdsOnly((event) => event.timerFiredEventAttributes?.timerId === `${seq}`)
    );
  };

const isOnlyRefusal = (task: WorkflowTask, commands: readonly Command[]): boolean =>
  task.isSpeculative &&
  commands.every(
    ({ updateResponse }) => (updateResponse as { rejected?: unknown } | undefined)?.rejected !== undefined,
  );

/** The run wanted to end, and did not know all that had come (UnhandledCommand). */
function failByServer(namespace: Namespace, execution: Execution, task: WorkflowTask): void {
  execution.updates.abortSent();
  writeFailed(execution, task, namespace.scheduler.now, { cause: failedCauses.UNHANDLED_COMMAND });
  execution.closeAttempted = true;
  namespace.scheduler.note(`unhandled ${execution.workflowId}`);
  namespace.count('unhandledCommand');
  endAttempt(execution);
  scheduleTask(namespace, execution);
}

/** The worker could not do it. */
export function failTask(namespace: Namespace, { execution, number }: StartedTask, failure: ProtoFailure): void {
  const { task } = execution;
  if (!task || task.number !== number) return;
  writeFailed(execution, task, namespace.scheduler.now, { cause: failedCauses.WORKER, failure });
  execution.updates.sendAgain();
  endAttempt(execution);
  scheduleTask(namespace, execution);
}
