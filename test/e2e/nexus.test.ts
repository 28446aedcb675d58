import { randomUUID } from 'node:crypto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createRidesService } from '../../examples/nexus/handlers.js';
import { useOrderStack } from '../support/order/stack.js';
import { useCallerWorker } from '../support/worker/caller-worker.js';
import type { ask, Seen } from '../support/worker/caller-workflows.js';

const stack = useOrderStack();
const caller = useCallerWorker(stack);
const endpoint = `rides-${randomUUID()}`;
const account = 'business';
let close: () => Promise<void>;

// The worker of examples/nexus, with these handlers.
beforeAll(async () => {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const taskQueue = `nexus-${randomUUID()}`;
  const nexusServices = [createRidesService({ accounts: new Set([account]), ridesQueue: stack.config.taskQueue })];
  const worker = await Worker.create({ connection, namespace: 'default', taskQueue, nexusServices });
  const running = worker.run();
  const spec = { name: endpoint, target: { worker: { namespace: 'default', taskQueue } } };
  await stack.client.connection.operatorService.createNexusEndpoint({ spec });
  close = async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
});
afterAll(() => close?.());

type Operation = Parameters<typeof ask>[1];
const asks = (operation: Operation, input: unknown): Promise<Seen> =>
  caller.client.workflow.execute<typeof ask>('ask', {
    workflowId: randomUUID(),
    taskQueue: caller.taskQueue,
    args: [endpoint, operation, input],
  });

describe.concurrent('a workflow in another namespace', () => {
  it('shares the run of an order with others, and reads its trail while it goes on and after its end', async () => {
    const order = { account, orderId: stack.newOrder(account, [['Driving', 0]]) };
    const handle = await stack.follow(account, order.orderId);
    const following = Promise.all([1, 2].map(() => asks('followOrder', order)));
    expect(await asks('orderTrail', order)).toMatchObject({ answer: { orderId: order.orderId, outcome: null } });
    stack.sandbox.setStatus(account, order.orderId, 'Completed');
    const answer = await handle.result();
    expect(await following).toEqual([{ answer }, { answer }]);
    expect([await asks('orderTrail', order), await asks('followOrder', order)]).toEqual([{ answer }, { answer }]);
  });

  it('reaches no workflow by naming it as a receiver', async () => {
    const order = { account, orderId: stack.newOrder(account, [['Completed', 0]]) };
    const notify = [{ workflowId: 'somebody-else', signal: 'approve' }];
    expect(await asks('followOrder', { ...order, notify })).toMatchObject({ answer: { outcome: 'completed' } });
    const { events } = await stack.client.workflow.getHandle(`order/${account}/${order.orderId}`).fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
    expect(JSON.parse(Buffer.from(started ?? []).toString())).toEqual(order);
  });

  it.each([
    ['followOrder', { account: 'partner', orderId: '1' }, 'AccountNotServed'],
    ['orderTrail', { account: 'partner', orderId: '1' }, 'AccountNotServed'],
    ['followOrder', null, 'AccountNotServed'],
    ['followOrder', { account, orderId: 7 }, 'InvalidInput'],
    ['orderTrail', { account, orderId: 'never-followed' }, 'OrderNotFollowed'],
  ] as const)('is refused at once: %s of %j, %s', async (operation, input, type) => {
    expect(await asks(operation, input)).toMatchObject({ type });
  });
});
