/** A command that new events have overtaken: the task runs again with them, by design. */
const overtaken = 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND';
/** Temporal went away while the SDK read a history from it: it gives the task back before any code of ours has run. */
const unread = /^Fetching history failed: Status \{ code: (Unavailable|DeadlineExceeded|Cancelled),/;

/** Does a failed workflow task, by its cause and message, say nothing against the workflow or the worker? */
export const isNoFault = (cause: string, message: string): boolean => cause === overtaken || unread.test(message);
