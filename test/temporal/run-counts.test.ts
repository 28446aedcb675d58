import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { createWorkerMetrics } from '../../src/observability/metrics.js';
import { createRunCounts, type RunCounts } from '../../src/temporal/visibility.js';

/** Visibility that answers `counts` by what a query ends with, and 0 otherwise. */
function stage(counts: Record<string, number>, fails = () => false) {
  const queries: string[] = [];
  const clock = { now: 0 };
  const count = async (query: string) => {
    queries.push(query);
    if (fails()) throw new Error('down');
    return { count: Object.entries(counts).find(([end]) => query.endsWith(end))?.[1] ?? 0 };
  };
  const client = { withDeadline: (_: number, call: () => unknown) => call(), workflow: { count } };
  const read = createRunCounts(client as unknown as Client, "q'1", () => clock.now);
  return { queries, clock, read };
}

it('the worker counts its running runs that need a person by their code', async () => {
  const { read, queries } = stage({ "'followOrder'": 7, 'IS NOT NULL': 3, "'forbidden'": 2, "'outcomeUnknown'": 1 });
  expect(await read()).toMatchObject({ followed: 7, attention: { forbidden: 2, outcomeUnknown: 1, scopeRejected: 0 } });
  for (const query of queries) expect(query).toMatch(/^TaskQueue = 'q\\'1' AND ExecutionStatus = 'Running' AND /);
});

it('the worker asks visibility twice for runs while no run needs a person, and again only after a minute', async () => {
  const { read, queries, clock } = stage({});
  await Promise.all([read(), read()]);
  clock.now = 59_999;
  await read();
  expect(queries).toHaveLength(2);
  clock.now = 60_000;
  await read();
  expect(queries).toHaveLength(4);
});

it('the worker asks visibility for no code of the plumbing while all attention is about rides', async () => {
  const { read, queries } = stage({ 'IS NOT NULL': 3, "'latePickup'": 1, "'customerCare'": 2 });
  expect(await read()).toMatchObject({ attention: { latePickup: 1, customerCare: 2, stuckInStatus: 0, forbidden: 0 } });
  expect(queries).toHaveLength(5);
});

it('the worker has no counts while visibility does not answer', async () => {
  let isDown = true;
  const { read, clock } = stage({}, () => isDown);
  expect(await read()).toBeNull();
  isDown = false;
  clock.now = 60_000;
  expect(await read()).toMatchObject({ followed: 0 });
});

it('metrics of runs have no value while visibility does not answer', async () => {
  const metrics = createWorkerMetrics();
  const attention = { forbidden: 2 } as RunCounts['attention'];
  let counts: RunCounts | null = { followed: 7, attention };
  metrics.showRuns(async () => counts);
  const page = await metrics.registry.metrics();
  expect(page).toContain('\nfaretrail_followed_orders 7\n');
  expect(page).toContain('\nfaretrail_attention_runs{code="forbidden"} 2\n');
  counts = null;
  expect(await metrics.registry.metrics()).not.toMatch(/^faretrail_(followed|attention)/m);
});
