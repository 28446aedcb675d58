import { expect, it } from 'vitest';
import { createResetActivities } from '../../src/activities/runs.js';
import { attemptOnce, iso, start } from './temporal.js';

const hour = 3_600_000;

it('a subscription learns that its run was reset since it opened its address, and waits on otherwise, spread by up to a tenth', async () => {
  const workflowExecution = { workflowId: 'w', runId: 'r' };
  const look = (resetAt: number, random: number) => {
    const wasReset = async (run: object, after: number) => {
      expect(run).toEqual(workflowExecution);
      return resetAt > after;
    };
    const { watchResets } = createResetActivities({ wasReset, random: () => random });
    return attemptOnce<void>({ workflowExecution }, () => watchResets({ everyMs: hour, openedAt: iso(start) }));
  };
  expect((await look(start + 1, 0)).failure).toBeUndefined();
  for (const random of [0, 0.5]) {
    const waiting = { type: 'NotYet', category: 'BENIGN', nextRetryDelay: hour * (1 + random / 10) };
    expect((await look(start - hour, random)).failure).toMatchObject(waiting);
  }
});
