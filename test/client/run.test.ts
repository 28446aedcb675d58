import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { runOf } from '../../src/client/run.js';
import { text } from '../../src/domain/schema.js';

const notFound = new WorkflowNotFoundError('not found', 'order/a/1', undefined);
const lostConnection = new Error('the connection is lost');
/** What a call to Temporal rejects with whose deadline is over. */
const late = Object.assign(new Error('late'), { code: 4, details: 'late', metadata: {} });

/** Asks a run that takes no messages, where looking for it comes to this. */
async function asked(describe: () => Promise<unknown>): Promise<unknown> {
  const deadlines: number[] = [];
  const client = {
    workflow: { getHandle: () => ({ describe: () => (deadlines.length > 0 ? describe() : never()) }) },
    async withDeadline<T>(deadline: number, act: () => Promise<T>): Promise<T> {
      deadlines.push(deadline);
      const answer = await act();
      deadlines.pop();
      return answer;
    },
  };
  const run = runOf(client as unknown as Client, 'order/a/1');
  return await run.ask(text(), () => Promise.reject(notFound)).catch((error: unknown) => error);
}

const never = (): never => {
  throw new Error('a call without a deadline');
};

it('a run that takes no messages any more is told from one that nobody knows', async () => {
  expect(await asked(async () => ({}))).toMatchObject({ code: 'AlreadyEnded' });
  expect(await asked(() => Promise.reject(notFound))).toMatchObject({ code: 'NotFound' });
});

it('when Temporal cannot be asked which of the two it is, neither is said', async () => {
  expect(await asked(() => Promise.reject(lostConnection))).toBe(lostConnection);
  expect(await asked(() => Promise.reject(late))).toMatchObject({ code: 'NoAnswer' });
});
