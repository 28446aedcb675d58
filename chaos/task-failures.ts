/** New events arrived before a command, so Temporal repeats the task with them. */
const overtaken = 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND';
/** More than 2 MiB of messages came during a task. Temporal keeps them, and repeats the task with them. */
const crowded = 'WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND';
/** Temporal went away while the SDK read a history, so the SDK fails the task before it runs our code. */
const unread = /^Fetching history failed: Status \{ code: (Unavailable|DeadlineExceeded|Cancelled),/;
/** `src/workflows/sdk-core-1146.ts`: the task succeeds when it is repeated. */
const ahead = /^A query has led this run ahead of its task/;

/** Do cause and message of a failed workflow task show that neither workflow nor worker is at fault? */
export const isNoFault = (cause: string, message: string): boolean =>
  cause === overtaken || cause === crowded || unread.test(message) || ahead.test(message);
