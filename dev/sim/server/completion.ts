// Completing and failing workflow tasks (service/history/api/respondworkflowtaskcompleted).
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

/** Applies the commands of a task. Returns false if the task is no longer current; then nothing happens. */
export function completeTask(
  namespace: Namespace,
  { execution, number }: StartedTask,
  poller: Poller,
  commands: readonly Command[],
): boolean {
  const { task, history } = execution;
  if (!task || task.number !== number) return false;
  if (closes(commands) && history.hasBuffered && !commands.some(takesBack(execution))) {
    failByServer(namespace, execution, task);
    return true;
  }
  execution.sticky = poller;
  if (isOnlyRefusal(task, commands)) {
    for (const command of commands) carryOut(namespace, execution, command, 0);
    endTask(namespace, execution);
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
  endTask(namespace, execution);
  return true;
}

/** If something arrived during the task, the next task starts at once on the same worker. */
function endTask(namespace: Namespace, execution: Execution): void {
  const { sticky, history, updates } = execution;
  execution.task = null;
  if (!execution.isOpen) return;
  updates.rejectUnprocessed();
  if (history.hasBuffered) scheduleTask(namespace, execution);
  else if (updates.isAnyAdmitted) scheduleTask(namespace, execution, { isSpeculative: true });
  else return;
  if (sticky && !namespace.matching.isGone(sticky)) startTask(namespace, execution, sticky);
}

const ends = [
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
];
const closes = (commands: readonly Command[]): boolean =>
  commands.some((command) => ends.some((end) => end in command));

/** Does this command cancel a timer whose firing is the only buffered event? */
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

/** The run tried to close, but there are events it has not seen (UnhandledCommand). */
function failByServer(namespace: Namespace, execution: Execution, task: WorkflowTask): void {
  execution.updates.abortSent();
  writeFailed(execution, task, namespace.scheduler.now, { cause: failedCauses.UNHANDLED_COMMAND });
  execution.closeAttempted = true;
  namespace.scheduler.note(`unhandled ${execution.workflowId}`);
  namespace.count('unhandledCommand');
  endAttempt(execution);
  scheduleTask(namespace, execution);
}

/** The worker reports that the task failed. */
export function failTask(namespace: Namespace, { execution, number }: StartedTask, failure: ProtoFailure): void {
  const { task } = execution;
  if (!task || task.number !== number) return;
  writeFailed(execution, task, namespace.scheduler.now, { cause: failedCauses.WORKER, failure });
  execution.updates.sendAgain();
  endAttempt(execution);
  scheduleTask(namespace, execution);
}
