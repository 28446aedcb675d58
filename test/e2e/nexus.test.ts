import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { trip } from '../../examples/nexus-caller/trip.js';
import { ensureEndpoint } from '../../local/stack/nexus-endpoint.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { type CallerWorker, startCallerWorker } from '../support/worker/caller-worker.js';
import type { ask, askAndLeave, Seen } from '../support/worker/caller-workflows.js';

let stack: OrderStack;
let caller: CallerWorker;
const endpoint = `rides-${randomUUID()}`;

beforeAll(async () => {
  stack = await startOrderStack();
  // As a local stack does each time it starts, whatever an earlier one left behind.
  for (const taskQueue of ['of-an-earlier-stack', stack.config.taskQueue, stack.config.taskQueue]) {
    await ensureEndpoint(stack.client, { name: endpoint, taskQueue });
  }
  caller = await startCallerWorker(stack, { namespace: `trips-${randomUUID()}` });
}, 120_000);
afterAll(async () => {
  await caller?.close();
  await stack?.close();
});

const inCaller = () => ({ workflowId: randomUUID(), taskQueue: caller.taskQueue });
const asks = (...args: Parameters<typeof ask>): Promise<Seen> =>
  caller.client.workflow.execute<typeof ask>('ask', { ...inCaller(), args });
const business = (orderId: string) => ({ account: 'business', orderId });
const endOf = (orderId: string) => stack.sandbox.setStatus('business', orderId, 'Completed');

describe.concurrent('a workflow in another namespace', () => {
  it('follows an order to its end, as the example does', async () => {
    const orderId = stack.newOrder('business', [
      ['Pending', 0],
      ['Driving', 1_000],
      ['Completed', 2_000],
    ]);
    const result = await caller.client.workflow.execute<typeof trip>('trip', {
      ...inCaller(),
      args: [{ endpoint, ...business(orderId) }],
    });
    const { answer } = (await asks(endpoint, 'orderTrail', business(orderId))) as { answer: OrderTrail };
    expect(result).toEqual({ outcome: 'completed', statuses: answer.timeline.map(({ status }) => status) });
    expect(result.statuses.at(-1)).toBe('Completed');
  });

  it('shares the run with others, and reads the trail while it goes on and after', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await stack.follow('business', orderId);
    const following = Promise.all([1, 2].map(() => asks(endpoint, 'followOrder', business(orderId))));
    const goesOn = { answer: { orderId, outcome: null } };
    await vi.waitFor(
      async () => expect(await asks(endpoint, 'orderTrail', business(orderId))).toMatchObject(goesOn),
      patient,
    );
    endOf(orderId);
    const trail = await handle.result();
    expect(await following).toEqual([{ answer: trail }, { answer: trail }]);
    expect(await asks(endpoint, 'orderTrail', business(orderId))).toEqual({ answer: trail });
  });

  it('gets the trail of an order that has ended before', async () => {
    const orderId = stack.newOrder('business', [['Cancelled', 0]]);
    const trail = await (await stack.follow('business', orderId)).result();
    expect(await asks(endpoint, 'followOrder', business(orderId))).toEqual({ answer: trail });
  });

  it.each([
    ['followOrder', { account: 'business', orderId: '' }, 'InvalidInput'],
    ['followOrder', { account: 'business', orderId: 'x', poll: 5 }, 'InvalidInput'],
    ['followOrder', { account: 'business', orderId: 'x', again: 'yes' }, 'InvalidInput'],
    ['followOrder', null, 'InvalidInput'],
    ['orderTrail', { account: 'Not A Name', orderId: 'x' }, 'InvalidInput'],
    ['orderTrail', { account: 'business', orderId: 'nobody-follows-it' }, 'OrderNotFollowed'],
  ] as const)('is refused at once: %s of %j, %s', async (operation, input, type) => {
    expect(await asks(endpoint, operation, input)).toEqual({ type });
  });

  it('that gives up does not stop the order for others', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const staying = asks(endpoint, 'followOrder', business(orderId));
    const leaving = await caller.client.workflow.execute<typeof askAndLeave>('askAndLeave', {
      ...inCaller(),
      args: [endpoint, business(orderId), 'WAIT_CANCELLATION_REQUESTED'],
    });
    expect(leaving).toEqual({ isCancelled: true });
    endOf(orderId);
    expect(await staying).toMatchObject({ answer: { outcome: 'completed' } });
  });
});
