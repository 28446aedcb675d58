/** New events arrived before a command, so Temporal repeats the task with them. */
const overtaken = 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND';
/** More than 2 MiB of messages came during a task. Temporal keeps them, and repeats the task with them. */
const crowded = 'WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND';
/** Temporal went away while the SDK read a history, so the SDK fails the task before it runs our code. */
const unread =
  /^Fetching history failed: Status \{ code: (Unavailable|DeadlineExceeded|Cancelled|Unknown, message: "transport error"),/;

/** A server that had just taken the run over gave out a history with a gap, so the SDK fails the task before it runs our code. */
const gapped = /^Fatal error in workflow machines: History is out of order\./;

/** A worker was paused for as long as the SDK lets workflow code run. */
const paused = 'Script execution timed out after 5000ms';

/**
 * The SDK accepted an update once more, which it had accepted in an earlier task of the run. Temporal takes no such answer and repeats the
 * task, for which the worker loads the run anew (sdk-typescript issue 1966). Workflow code cannot accept an update.
 */
const acceptedAgain = /: received \*update\.Acceptance message while in state Accepted$/;

/** Do cause and message of a failed workflow task show that neither workflow nor worker is at fault? */
export const isNoFault = (cause: string, message: string): boolean =>
  [overtaken, crowded].includes(cause) ||
  message === paused ||
  [unread, gapped, acceptedAgain].some((known) => known.test(message));
