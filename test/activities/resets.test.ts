import { expect, it } from 'vitest';
import { createResetActivities } from '../../src/activities/runs.js';
import { attemptOnce, iso, start } from './temporal.js';

const hour = 3_600_000;

/** One look at a run that was reset after this instant; null: never. */
function look(resetAt: number | null, random = 0.5) {
  const { watchResets } = createResetActivities({
    wasReset: async ({ workflowId, runId }, after) =>
      workflowId === 'w' && runId === 'r' && resetAt !== null && resetAt > after,
    random: () => random,
  });
  const workflowExecution = { workflowId: 'w', runId: 'r' };
  return attemptOnce<unknown>({ workflowExecution }, async () => {
    await watchResets({ everyMs: hour, openedAt: iso(start) });
    return 'reset';
  });
}

it('a subscription learns that an operator has reset its run since it opened its address', async () => {
  expect(await look(start + 1)).toMatchObject({ seen: 'reset' });
});

it.each([null, start - hour])(
  'a subscription waits on as a benign failure, spread by up to a tenth, when its run was reset at %j',
  async (resetAt) => {
    const notYet = { type: 'NotYet', category: 'BENIGN' };
    expect((await look(resetAt, 0)).failure).toMatchObject({ ...notYet, nextRetryDelay: hour });
    expect((await look(resetAt)).failure).toMatchObject({ ...notYet, nextRetryDelay: hour * 1.05 });
  },
);
