import { randomUUID } from 'node:crypto';
import { expect, inject, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { createDeliveryPort } from '../../../src/temporal/deliveries.js';
import { runHere } from '../../cli/fake-process.js';
import { newDelivery, withWays } from '../../support/delivery/deliveries.js';
import { textFile } from '../../support/json-file.js';
import { shows, trailOf, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

// RFC 9562 section 4: a UUID is the same in capitals.

const stack = useOrderStack({ env: { FARETRAIL_POLL_ACTIVE_MS: '500' } });
const account = toAccountName('business');
const portOf = () =>
  withWays(createDeliveryPort({ client: stack.client, taskQueue: stack.config.taskQueue, untracked: () => 'follow' }));
const command = (...args: string[]) =>
  runHere([...args, '--json'], {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
  });
/** The runs about an order, whatever its spelling. */
async function runsAbout(orderId: string): Promise<string[]> {
  const ids: string[] = [];
  const query = `WorkflowType = 'followOrder' AND TaskQueue = '${stack.config.taskQueue}'`;
  for await (const { workflowId } of stack.client.workflow.list({ query })) ids.push(workflowId);
  return ids.filter((id) => id.toLowerCase().endsWith(orderId.toLowerCase()));
}

it('a delivery, a command and an import that spell it in capitals mean the same run', async () => {
  const orderId = stack.newOrder('business', [['Pending', 0]]);
  const run = await stack.follow('business', orderId);
  await shows(run, { status: 'Pending' });
  const inCapitals = orderId.toUpperCase();
  const key = { account, orderId: inCapitals as ReturnType<typeof toOrderId> }; // as a journal of an earlier release has it
  expect(await portOf().toOrder(key, [newDelivery({ status: 'Driving' })])).toBe('signalled');
  await shows(run, { deliveries: { received: 1 } });
  expect(JSON.parse((await command('order', 'show', 'business', inCapitals)).stdout)).toMatchObject({
    trail: { orderId },
  });
  const followed = await command('order', 'follow', 'business', inCapitals);
  expect(JSON.parse(followed.stdout)).toMatchObject({ state: 'alreadyFollowed' });
  await vi.waitFor(
    async () => expect(await runsAbout(orderId)).toEqual([followOrderId({ account, orderId: toOrderId(orderId) })]),
    patient,
  );
});

it('a run of release 0.2.0, whose id is in capitals, goes on and is found', async () => {
  const orderId = randomUUID().toUpperCase();
  stack.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Pending', afterMs: 0 }] });
  const { taskQueue } = stack.config;
  const run = await stack.client.workflow.start('followOrder', {
    workflowId: `order/business/${orderId}`,
    taskQueue,
    args: [{ account, orderId }],
  });
  await shows(run, { status: 'Pending', orderId });
  expect(await portOf().toOrder({ account, orderId: toOrderId(orderId) }, [newDelivery()])).toBe('signalled');
  await shows(run, { deliveries: { received: 1 } });
  stack.sandbox.setStatus('business', orderId, 'Driving');
  await shows(run, { status: 'Driving' }); // by a poll
  for (const spelling of [orderId, orderId.toLowerCase()]) {
    const { exitCode, stdout } = await command('order', 'show', 'business', spelling);
    expect({ exitCode, ...JSON.parse(stdout) }).toMatchObject({ exitCode: 0, trail: { status: 'Driving' } });
  }
  const followed = await command('order', 'follow', 'business', orderId.toLowerCase());
  expect(JSON.parse(followed.stdout)).toMatchObject({ state: 'alreadyFollowed' });
  const imported = await command('order', 'import', textFile(JSON.stringify({ account, orderId }), '.jsonl'));
  expect(JSON.parse(imported.stdout)).toMatchObject({ alreadyFollowed: 1, new: 0 });
  await vi.waitFor(async () => expect(await runsAbout(orderId)).toEqual([run.workflowId]), patient);
  expect((await command('order', 'stop', 'business', orderId, '--reason', 'tested')).exitCode).toBe(0);
  expect(await trailOf(run)).toMatchObject({ outcome: 'stopped' });
  await vi.waitFor(async () => {
    const { exitCode, stdout } = await command('erase', 'business', orderId, '--yes'); // its list is behind the end
    expect({ exitCode, ...JSON.parse(stdout || '{}') }).toMatchObject({ erased: [{ workflowId: run.workflowId }] });
  }, patient);
});
