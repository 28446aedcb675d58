import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { createFleet } from '../../src/temporal/fleet.js';

const now = 1_000_000_000;
type Listed = [identity: string, secondsAgo: number][];

/** A server that lists these pollers of activities, by the name of the partition. */
function stage(partitions: Record<string, Listed>, refusal?: object) {
  const asked: object[] = [];
  const workflowService = {
    async listTaskQueuePartitions() {
      if (refusal) throw Object.assign(new Error('no'), refusal);
      return { activityTaskQueuePartitions: Object.keys(partitions).map((key) => ({ key })) };
    },
    async describeTaskQueue(request: { taskQueue: { name: string } }) {
      asked.push(request);
      const pollers = (partitions[request.taskQueue.name] ?? []).map(([identity, secondsAgo]) => ({
        identity,
        lastAccessTime: { seconds: now / 1_000 - secondsAgo },
      }));
      return { pollers };
    },
  };
  const withDeadline = (_: number, act: () => unknown) => act();
  const client = { options: { namespace: 'rides' }, workflowService, withDeadline } as unknown as Client;
  return { fleet: createFleet(client, () => now), asked };
}

const denied = { code: 7, details: 'denied', metadata: {} };

it('each worker is listed once, by its latest poll at any partition', async () => {
  const { fleet, asked } = stage({ q: [['a', 20]], '/_sys/q/1': [['a', 50]], '/_sys/q/2': [['b', 74]] });
  const pollers = await fleet.pollersOf('q');
  expect(pollers).toEqual([
    { identity: 'a', lastAccessAt: now - 20_000 },
    { identity: 'b', lastAccessAt: now - 74_000 },
  ]);
  expect(asked).toContainEqual({ namespace: 'rides', taskQueue: { name: '/_sys/q/2' }, taskQueueType: 2 });
});

it('a worker that has not polled for longer than a poll lasts is not listed', async () => {
  expect(await stage({ q: [['a', 76]] }).fleet.pollersOf('q')).toEqual([]);
});

it('the first partition stands for all where the server does not show them', async () => {
  const { fleet } = stage({ q: [['a', 1]] }, denied);
  expect(await fleet.pollersOf('q')).toHaveLength(1);
});

it('a server that does not answer is an error, and not a fleet without workers', async () => {
  const { fleet } = stage({ q: [['a', 1]] }, { ...denied, code: 14 });
  await expect(fleet.pollersOf('q')).rejects.toThrow('no');
});
