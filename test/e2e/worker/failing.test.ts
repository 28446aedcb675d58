import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { runTogether } from '../../../src/order-worker.js';
import { quietRuntime } from '../../support/worker/runtime.js';

let connection: Connection;
let native: NativeConnection;

beforeAll(async () => {
  quietRuntime();
  const address = inject('temporalAddress');
  [connection, native] = await Promise.all([Connection.connect({ address }), NativeConnection.connect({ address })]);
});
afterAll(() => Promise.all([connection?.close(), native?.close()]));

it('lets the calls of its other queues end when the SDK worker of one queue fails, and fails after that', async () => {
  const client = new Client({ connection });
  let begun = (): void => undefined;
  const isCalling = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const seen: unknown[] = [];
  const queues = { calling: `calling-${randomUUID()}`, failing: `failing-${randomUUID()}` };
  const activities = {
    async call(): Promise<string> {
      begun();
      await expect.poll(() => failing.getState()).toBe('FAILED');
      seen.push(together.isLive(), together.whyNotPolling());
      return 'answered';
    },
    // Not well-formed: the SDK's core takes no such text, and its worker fails.
    failOnce: () => Promise.reject(new Error('\ud800')),
  };
  const create = (taskQueue: string) =>
    Worker.create({ connection: native, taskQueue, activities, shutdownGraceTime: 60_000 });
  const [calling, failing] = await Promise.all([create(queues.calling), create(queues.failing)]);
  const together = runTogether([calling, failing], async () => void seen.push('stopped'));
  const running = together.run();
  const failed = running.then(
    () => false,
    () => true,
  );

  const options = { startToCloseTimeout: 60_000, id: randomUUID() };
  const call = client.activity.execute('call', { ...options, taskQueue: queues.calling });
  await isCalling;
  await client.activity.start('failOnce', { ...options, id: randomUUID(), taskQueue: queues.failing });
  expect(await call).toBe('answered');
  expect(await failed).toBe(true);
  expect(seen).toEqual([true, expect.stringContaining('has failed'), 'stopped']);
  expect([calling.getState(), failing.getState()]).toEqual(['STOPPED', 'FAILED']);
});
