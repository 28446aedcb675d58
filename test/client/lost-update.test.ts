import { QueryNotRegisteredError, ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { askedAhead } from '../../src/domain/asked-ahead.js';
import { repeatWhenLost } from '../../src/temporal/lost-update.js';

/** What a call to Temporal rejects with when the server answers with this code. */
const answered = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no', metadata: {} });
const failedPrecondition = answered(9);
/** What an update rejects with that has failed with this type. */
const failed = (type: string): Error =>
  new WorkflowUpdateFailedError('failed', ApplicationFailure.nonRetryable('no', type));

/** An update that is turned away with these in turn, then carried out; and when each was sent. */
function sending(...refusals: Error[]) {
  const sentAt: number[] = [];
  const send = async () => {
    sentAt.push(performance.now());
    const refusal = refusals.shift();
    if (refusal) throw refusal;
    return 'done';
  };
  return { send, sentAt };
}

describe('an update that the server turned away before the run has seen it', () => {
  it.each([
    ['as it is', failedPrecondition],
    ['as the cause of an error of the client', new ServiceError('failed', { cause: failedPrecondition })],
    ['as the failure of an update that no worker has dealt with', failed('UnprocessedUpdate')],
    [
      'from a run that failed over its input before it took messages',
      new WorkflowUpdateFailedError(
        'failed',
        ApplicationFailure.nonRetryable('No registered handler for update: refreshOrder'),
      ),
    ],
  ])('is sent again after a pause; the refusal comes %s', async (_how, refusal) => {
    const { send, sentAt } = sending(refusal);
    expect(await repeatWhenLost(send)).toBe('done');
    const [first = 0, second = 0, ...more] = sentAt;
    expect(more).toEqual([]);
    expect(second - first).toBeGreaterThan(150);
  });

  it('is sent five times, then the last refusal counts', async () => {
    const last = answered(9);
    const { send, sentAt } = sending(...Array.from({ length: 4 }, () => answered(9)), last);
    await expect(repeatWhenLost(send)).rejects.toBe(last);
    expect(sentAt).toHaveLength(5);
  });
});

it.each([
  ['an answer of another kind', answered(5)],
  ['a failure of the run itself', failed('Refused')],
  ['an error that is no answer', Object.assign(new Error('no'), { code: 9 })],
])('%s is not repeated', async (_what, error) => {
  const { send, sentAt } = sending(error);
  await expect(repeatWhenLost(send)).rejects.toBe(error);
  expect(sentAt).toHaveLength(1);
});

it('a question that came ahead of a task is asked again, one that a run does not know is not', async () => {
  const refusal = (message: string) => new QueryNotRegisteredError(message, 3);
  expect(await repeatWhenLost(sending(refusal(`a worker says: ${askedAhead}`)).send)).toBe('done');
  await expect(repeatWhenLost(sending(refusal('no such query')).send)).rejects.toThrow('no such query');
});
