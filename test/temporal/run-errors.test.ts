import { WorkflowFailedError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import {
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { failureTypeOf } from '../../src/temporal/failure-type.js';
import { FaretrailClientError, toClientError } from '../../src/temporal/run-errors.js';

const refused = ApplicationFailure.create({
  type: 'Refused',
  message: 'the service refused it',
  details: [{ status: 422, code: 'TOO_LATE', message: 'too late' }],
});
const child = { workflowId: 'w', runId: 'r' };
const wrapped = new ChildWorkflowFailure(undefined, child, 'followOrder', 'NON_RETRYABLE_FAILURE', refused);
const failed = (cause: Error) => new WorkflowFailedError('Workflow execution failed', cause, 'NON_RETRYABLE_FAILURE');

describe('an error of a run', () => {
  it.each([
    ['the failure of the run', failed(refused)],
    ['a failure that others wrapped', failed(wrapped)],
    ['the failure of an update', new WorkflowUpdateFailedError('Workflow Update failed', refused)],
  ])('has the code and the details of %s', (_, error) => {
    expect(toClientError(error, 'order/a/1')).toMatchObject({
      name: 'FaretrailClientError',
      code: 'Refused',
      message: 'the service refused it',
      details: refused.details,
      cause: error,
    });
  });

  it.each([
    ['Cancelled', failed(new CancelledFailure('cancelled'))],
    ['Terminated', failed(new TerminatedFailure('terminated'))],
    ['TimedOut', failed(new TimeoutFailure('timed out', undefined, 'START_TO_CLOSE'))],
    ['RunFailed', failed(new Error('?'))],
    ['NotFound', new WorkflowNotFoundError('not found', 'order/a/1', undefined)],
  ])('says %s', (code, error) => {
    expect(toClientError(error, 'order/a/1')).toMatchObject({ code, cause: error });
    expect(toClientError(error, 'order/a/1')).toBeInstanceOf(FaretrailClientError);
  });

  it('of an unknown class is left as it is', () => {
    const other = new TypeError('x');
    expect(toClientError(other, 'order/a/1')).toBe(other);
  });
});

it('a failure type is found below any number of wrappers, and the innermost counts', () => {
  const outer = ApplicationFailure.create({ type: 'OperationError', message: 'wrapper', cause: wrapped });
  expect(failureTypeOf(outer)).toBe('Refused');
  expect(failureTypeOf(new Error('none'))).toBeUndefined();
});
