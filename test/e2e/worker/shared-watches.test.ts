import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { readWatch } from '../../../src/temporal/watches.js';
import { type WorkerEnv, workerEnv } from '../../support/accounts.js';
import { shows, startOrderStack } from '../../support/order/stack.js';

const env: WorkerEnv = {
  FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
  FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
};

const startProcess = (identity: string, more = env) =>
  startOrderStack({ env: more, options: { identity }, watchPace: { shares: 500 } });

it('a worker gives watches back once another one could have them, and keeps its share', async () => {
  const first = await startProcess('first');
  const { client, config } = first;
  const holders = async (): Promise<string[]> => {
    const names = ['partner', 'business'].map((name) => toAccountName(name));
    const watches = await Promise.all(names.map((name) => readWatch(client, config.taskQueue, name)));
    return watches.map((watch) => watch?.worker ?? 'none').sort();
  };
  const runs = [];
  for (const at of ['partner', 'business'] as const) {
    runs.push(await first.follow(at, first.newOrder(at, [['Routing', 0]])));
  }
  for (const run of runs) await shows(run, { status: 'Routing' });
  await expect.poll(holders).toEqual(['first', 'first']);
  const second = await startProcess('second', workerEnv(first.sandbox.url, env));
  await expect.poll(holders).toEqual(['first', 'second']);
  for (const run of runs) await run.terminate();
  await second.close();
  await first.close();
});
