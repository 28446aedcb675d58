import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { createProcessCount, pollersOf } from '../../src/temporal/watches.js';

const now = 1_000_000_000;

/** A server that lists these pollers. */
function stage(...listed: [identity: string, secondsAgo: number][]) {
  const asked: object[] = [];
  const workflowService = {
    async describeTaskQueue(request: object) {
      asked.push(request);
      return {
        pollers: listed.map(([identity, ago]) => ({ identity, lastAccessTime: { seconds: now / 1_000 - ago } })),
      };
    },
  };
  const withDeadline = (_: number, act: () => unknown) => act();
  const client = { options: { namespace: 'rides' }, workflowService, withDeadline } as unknown as Client;
  return { pollers: () => pollersOf(client, 'q', 'activities', () => now), asked };
}

it('each worker that has polled within the length of a poll is listed once, by one call', async () => {
  const { pollers, asked } = stage(['a', 20], ['a', 50], ['b', 74], ['c', 76]);
  expect(await pollers()).toEqual(['a', 'b']);
  expect(asked).toEqual([{ namespace: 'rides', taskQueue: { name: 'q' }, taskQueueType: 2 }]);
});

it('processes are counted on for ten minutes while a server does not know them yet', async () => {
  let [at, pollers] = [0, ['a', 'b', 'c']];
  const count = createProcessCount(
    async () => pollers,
    () => at,
  );
  expect(await count('q')).toBe(3);
  [at, pollers] = [599_000, ['a']];
  expect(await count('q')).toBe(3);
  [at, pollers] = [600_000, []];
  expect(await count('q'), 'one is there at least').toBe(1);
});

it('for the first minute another process is counted, which the server may not know yet', async () => {
  let at = 5_000;
  const count = createProcessCount(
    async () => ['a'],
    () => at,
  );
  expect(await count('q')).toBe(2);
  at += 74_000;
  expect(await count('q')).toBe(2);
  at += 2_000;
  expect(await count('q')).toBe(1);
});
