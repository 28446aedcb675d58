import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { goOnFrom } from '../../../src/domain/order/earlier-run.js';
import { fromFollowOrderId } from '../../../src/domain/workflow-ids.js';
import { repeatWhenLost } from '../../../src/temporal/runs.js';
import { readLeft } from '../../../src/temporal/starts.js';
import type { FollowOrderLimits, followOrder } from '../../../src/workflows/order/follow-order.js';
import { inputOf } from '../runs.js';
import { type FollowHandle, type OrderStack, shows } from './stack.js';

/** What names an order of the sandbox. */
export interface AnOrder {
  account: string;
  orderId: string;
}

/** An order on its way. */
export const anOrderOf = (stack: OrderStack): AnOrder => ({
  account: 'business',
  orderId: stack.newOrder('business', [['Routing', 0]]),
});

/** The newest run of an order. */
export const orderRunOf = ({ client }: OrderStack, { account, orderId }: AnOrder) =>
  client.workflow.getHandle<typeof followOrder>(`order/${account}/${orderId}`);

/** The order is followed by another run than `before`, to its end. */
export async function goesOnAfter(stack: OrderStack, order: AnOrder, before: string): Promise<void> {
  const run = orderRunOf(stack, order);
  await shows(run, { status: 'Routing' });
  expect((await run.describe()).runId).not.toBe(before);
  stack.sandbox.setStatus('business', order.orderId, 'Completed');
  expect(await run.result()).toMatchObject({ outcome: 'completed' });
}

/** Has an order followed again after a run that was broken off or stopped, as every starter of ours does, but with limits of its own. */
export async function followAgain(
  { client, config }: OrderStack,
  workflowId: string,
  limits?: FollowOrderLimits,
): Promise<FollowHandle> {
  const key = fromFollowOrderId(workflowId) ?? expect.fail(`not the id of an order: ${workflowId}`);
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const before = await readLeft(client, key, runId);
  if (typeof before === 'string') return expect.fail(`what the run left is ${before}`);
  const { input, left } = goOnFrom(before, 'stopped', key);
  return await client.workflow.start<typeof followOrder>('followOrder', {
    ...{ workflowId, taskQueue: config.taskQueue },
    args: [input, limits ? { left, limits } : { left }],
  });
}

/** What the newest run was started with. */
export const startedWith = (stack: OrderStack, order: AnOrder): Promise<unknown[]> => inputOf(orderRunOf(stack, order));

/** Ends that cannot be meant to last, and how each comes about. Gives the run that ended. */
export const brokenOff: Record<string, (stack: OrderStack, order: AnOrder) => Promise<string>> = {
  async 'a start with a misspelt field'(stack, order) {
    const args = [{ account: order.account, orderId: order.orderId, reference_: 'trip-9' }];
    const { taskQueue } = stack.config;
    const workflowId = orderRunOf(stack, order).workflowId;
    const misspelt = await stack.client.workflow.start('followOrder', { workflowId, taskQueue, args });
    await expect(misspelt.result()).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
    return misspelt.firstExecutionRunId;
  },
  async 'a terminate by an operator'(stack, order) {
    const { firstExecutionRunId } = await stack.follow('business', order.orderId);
    await orderRunOf(stack, order).terminate('by mistake');
    return firstExecutionRunId;
  },
  async 'a cancel by an operator'(stack, order) {
    const run = await stack.follow('business', order.orderId);
    await run.cancel();
    await run.result().catch(() => undefined);
    return run.firstExecutionRunId;
  },
};

/** Ends that a caller may take back. */
export const takenBack: Record<string, (stack: OrderStack, order: AnOrder) => Promise<string>> = {
  async 'a stop by mistake'(stack, order) {
    const run = await stack.follow('business', order.orderId);
    const stop = { args: [{ reason: 'the wrong order' }] as [{ reason: string }], updateId: randomUUID() };
    await repeatWhenLost(() => run.executeUpdate('stopFollowing', stop));
    await run.result();
    return run.firstExecutionRunId;
  },
  async 'an expiry before a pick-up far ahead'(stack, order) {
    const run = await stack.follow('business', order.orderId, { followForMs: 1_000 });
    expect(await run.result()).toMatchObject({ outcome: 'expired' });
    return run.firstExecutionRunId;
  },
};
