import { expect, it } from 'vitest';
import { isNoFault } from '../../chaos/task-failures.js';

const unhandled = 'WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE';

it.each([
  ['new events overtook it', 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND', 'UnhandledCommand', true],
  ['Temporal went away', unhandled, 'Fetching history failed: Status { code: Unavailable, message: "refused" }', true],
  [
    'Temporal knows no such history',
    unhandled,
    'Fetching history failed: Status { code: NotFound, message: "" }',
    false,
  ],
  ['code of ours', unhandled, 'cannot read properties of undefined', false],
  ['a history that does not replay', 'WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR', 'Nondeterminism', false],
])('a workflow task failed since %s', (_why, cause, message, isNone) => {
  expect(isNoFault(cause, message)).toBe(isNone);
});
