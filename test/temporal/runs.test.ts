import {
  type Client,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { askedAhead } from '../../src/domain/errors.js';
import { failureTypeOf } from '../../src/temporal/failure-type.js';
import { FaretrailClientError, toClientError } from '../../src/temporal/run-errors.js';
import { runOf } from '../../src/temporal/runs.js';

/** What a call to Temporal rejects with when the server answers with this code. */
const answered = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no', metadata: {} });
const failedPrecondition = answered(9);
/** What an update rejects with that has failed with this type. */
const failed = (type: string): Error => updateFailed(ApplicationFailure.nonRetryable('no', type));
const updateFailed = (cause: Error): Error => new WorkflowUpdateFailedError('failed', cause);
const unregistered = ApplicationFailure.nonRetryable('No registered handler for update: refreshOrder');

/** A run that turns messages away with these in turn, then answers; and what was sent to it when. */
function turningAway(...refusals: Error[]) {
  const sent: { updateId?: string; at: number }[] = [];
  const send = async (_definition: unknown, options?: { updateId?: string }) => {
    sent.push({ ...options, at: performance.now() });
    const refusal = refusals.shift();
    if (refusal) throw refusal;
    return 'done';
  };
  const handle = { workflowId: 'order/a/1', executeUpdate: send, query: send, describe: standing('RUNNING') };
  const client = { workflow: { getHandle: () => handle } };
  return { run: runOf(client as unknown as Client, 'order/a/1'), sent };
}

describe('an update that the server turned away before the run has seen it', () => {
  it.each([
    ['as it is', failedPrecondition],
    ['as the cause of an error of the client', new ServiceError('failed', { cause: failedPrecondition })],
    ['as the failure of an update that no worker has dealt with', failed('UnprocessedUpdate')],
    ['from a run that failed over its input before it took messages', updateFailed(unregistered)],
  ])('is sent again under the same id after a pause; the refusal comes %s', async (_how, refusal) => {
    const { run, sent } = turningAway(refusal);
    expect(await run.update('refreshOrder', [])).toBe('done');
    const [first, second, ...more] = sent;
    expect(more).toEqual([]);
    expect(first?.updateId).toMatch(/^[0-9a-f-]{36}$/);
    expect(second?.updateId).toBe(first?.updateId);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(150);
  });

  it('is sent five times, and then rejects with the last refusal', async () => {
    const last = answered(9);
    const { run, sent } = turningAway(...Array.from({ length: 4 }, () => answered(9)), last);
    await expect(run.update('refreshOrder', [])).rejects.toBe(last);
    expect(sent).toHaveLength(5);
  });
});

describe('a refresh whose run gave way to the next one before the read', () => {
  it('is sent to the next run, under another id, since a run that has not gone yet knows the first one', async () => {
    const { run, sent } = turningAway(failed('NotRead'), failedPrecondition, failed('NotRead'));
    expect(await run.update('refreshOrder', [])).toBe('done');
    const [first, lost, second, third] = sent.map(({ updateId }) => updateId);
    expect(second).toBe(lost);
    expect(new Set([first, second, third]).size).toBe(3);
  });

  it('fails with the last answer if no run has read the order', async () => {
    const { run, sent } = turningAway(...Array.from({ length: 9 }, () => failed('NotRead')));
    await expect(run.update('refreshOrder', [])).rejects.toMatchObject({ code: 'NotRead' });
    expect(sent).toHaveLength(5);
  });
});

it.each([
  ['an answer of another kind', answered(5), {}],
  ['a failure of the run itself', failed('Refused'), { code: 'Refused' }],
  ['an error that is no answer', Object.assign(new Error('no'), { code: 9 }), {}],
])('%s is not repeated', async (_what, error, told) => {
  const { run, sent } = turningAway(error);
  await expect(run.update('refreshOrder', [])).rejects.toMatchObject(told);
  expect(sent).toHaveLength(1);
});

it('a query that came ahead of a task is sent again, a query that the run does not know is not', async () => {
  const refusal = (message: string) => new QueryNotRegisteredError(message, 3);
  expect(await turningAway(refusal(`a worker says: ${askedAhead}`)).run.query('orderTrail')).toBe('done');
  await expect(turningAway(refusal('no such query')).run.query('orderTrail')).rejects.toThrow('no such query');
});

const notFound = new WorkflowNotFoundError('not found', 'order/a/1', undefined);

it('an update that the server no longer finds, since an operator has reset the run, is sent to the run that goes on', async () => {
  const { run, sent } = turningAway(notFound, notFound);
  expect(await run.update('refreshOrder', [])).toBe('done');
  expect(sent).toHaveLength(3);
});

const lostConnection = new Error('the connection is lost');
/** What a call to Temporal rejects with whose deadline is over. */
const late = answered(4);

/** A run that takes no messages, where looking for it comes to this. Every call must have a deadline. */
function takingNone(describe: () => Promise<unknown>) {
  let deadlines = 0;
  const inTime = (call: () => Promise<unknown>) => {
    if (deadlines === 0) throw new Error('a call without a deadline');
    return call();
  };
  const refuse = () => inTime(() => Promise.reject(notFound));
  const handle = { workflowId: 'order/a/1', executeUpdate: refuse, signal: refuse, describe: () => inTime(describe) };
  const client = {
    workflow: { getHandle: () => handle },
    async withDeadline<T>(_deadline: number, act: () => Promise<T>): Promise<T> {
      deadlines += 1;
      return await act().finally(() => {
        deadlines -= 1;
      });
    },
  };
  return runOf(client as unknown as Client, 'order/a/1');
}

const standing = (name: string) => async () => ({
  status: { name },
  startTime: new Date(),
  runId: 'r',
  historyLength: 3,
});
const found = standing('COMPLETED');
const withinMs = 1_000;

it('a run that takes no messages any more is AlreadyEnded, one that Temporal does not know NotFound', async () => {
  for (const [describe, code] of [
    [found, 'AlreadyEnded'],
    [() => Promise.reject(notFound), 'NotFound'],
  ] as const) {
    const run = takingNone(describe);
    await expect(run.update('refreshOrder', [], { withinMs })).rejects.toMatchObject({ code });
    expect(await run.signal('followRequested', {}, { withinMs })).toBe(false);
    expect(await run.closed({ withinMs })).toMatchObject({ code });
  }
});

it('a run is neither AlreadyEnded nor NotFound while Temporal does not answer which of the two it is', async () => {
  const asked = (error: Error) => takingNone(() => Promise.reject(error)).update('refreshOrder', [], { withinMs });
  await expect(asked(lostConnection)).rejects.toBe(lostConnection);
  await expect(asked(late)).rejects.toMatchObject({ code: 'NoAnswer' });
});

it('a run that Temporal does not remember is not found, which is no error', async () => {
  expect(await takingNone(() => Promise.reject(notFound)).find({ withinMs })).toBeUndefined();
  const ended = { isOpen: false, state: 'completed', version: 'r/3' };
  expect(await takingNone(found).find({ withinMs })).toMatchObject(ended);
  const paused = { isOpen: true, state: 'paused' }; // by an operator: a subscription takes deliveries, for one
  expect(await takingNone(standing('PAUSED')).find({ withinMs })).toMatchObject(paused);
});

const refused = ApplicationFailure.create({
  type: 'Refused',
  message: 'the service refused it',
  details: [{ status: 422, code: 'TOO_LATE', message: 'too late' }],
});
const child = { workflowId: 'w', runId: 'r' };
const wrapped = new ChildWorkflowFailure(undefined, child, 'followOrder', 'NON_RETRYABLE_FAILURE', refused);
const runFailed = (cause: Error) =>
  new WorkflowFailedError('Workflow execution failed', cause, 'NON_RETRYABLE_FAILURE');

describe('the error that a caller gets of a run', () => {
  it.each([
    ['the failure of the run', runFailed(refused)],
    ['a failure that others wrapped', runFailed(wrapped)],
    ['the failure of an update', updateFailed(refused)],
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
    ['Cancelled', runFailed(new CancelledFailure('cancelled'))],
    ['Terminated', runFailed(new TerminatedFailure('terminated'))],
    ['TimedOut', runFailed(new TimeoutFailure('timed out', undefined, 'START_TO_CLOSE'))],
    ['RunFailed', runFailed(new Error('?'))],
    ['NotFound', notFound],
  ])('says %s', (code, error) => {
    expect(toClientError(error, 'order/a/1')).toMatchObject({ code, cause: error });
    expect(toClientError(error, 'order/a/1')).toBeInstanceOf(FaretrailClientError);
  });

  it('is the error itself when its class is unknown', () => {
    const other = new TypeError('x');
    expect(toClientError(other, 'order/a/1')).toBe(other);
  });
});

it('the type of a failure is that of the innermost of its wrappers', () => {
  const outer = ApplicationFailure.create({ type: 'OperationError', message: 'wrapper', cause: wrapped });
  expect(failureTypeOf(outer)).toBe('Refused');
  expect(failureTypeOf(new Error('none'))).toBeUndefined();
});
