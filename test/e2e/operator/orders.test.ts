import { randomUUID } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { accountWatchId } from '../../../src/domain/workflow-ids.js';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { isLong } from '../../support/long.js';
import { noticesOf } from '../../support/notify/notices.js';
import { useNotifyReceiver } from '../../support/notify/receiver.js';
import { type ActivityAction, activityActions, actOn, resetPoints, resetRun } from '../../support/operator.js';
import { type FollowHandle, shows, trailOf } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { isFailing, isPending } from '../../support/runs.js';
import { useStoreStack } from '../../support/store/stack.js';

const receiver = useNotifyReceiver();
// An order that was reset may show less than the watch of its account knows, until the watch lists the orders again.
const { postgres, stack } = useStoreStack(() => ({ env: receiver.env, watchPace: { lists: [1_000] } }));
afterEach(() => stack.sandbox.clearFaults());

/** An order that tells a path of the receiver, and what brings it to a status that the newest run shows. */
async function follow() {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const path = `/${randomUUID()}`;
  const run = await stack.follow('business', orderId, { notify: [{ url: receiver.origin + path }] });
  const { workflowId, firstExecutionRunId: runId } = run;
  const current = stack.client.workflow.getHandle(workflowId) as FollowHandle;
  await shows(current, { status: 'Routing' });
  const change = async (status: string): Promise<void> => {
    stack.sandbox.setStatus('business', orderId, status);
    await current.executeUpdate('refreshOrder').catch(() => undefined);
    await shows(current, { status });
  };
  const [notices, rows] = [noticesOf(stack, run), noticesOf(stack, run, 'store')];
  return { orderId, path, run, first: { workflowId, runId }, current, change, notices, rows };
}

const rowsOf = async (orderId: string): Promise<string[]> =>
  (
    await postgres.rows<{ status: string }>(
      'select status from faretrail.order_changes where order_id = $1 order by position',
      [orderId],
    )
  ).map(({ status }) => status);

/** Resolves once the receiver and the store have got this status last. */
const areTold = ({ path, orderId }: { path: string; orderId: string }, status: string, after: string): Promise<void> =>
  vi.waitFor(async () => {
    expect(receiver.taken(path).at(-1), after).toBe(status);
    expect((await rowsOf(orderId)).at(-1), after).toBe(status);
  }, patient);

/** No receiver may drop a notice as a repeat of another one. */
function expectOneContentForEachId(path: string): void {
  const contents = new Map<string, string>();
  for (const { id, event } of receiver.received.filter((one) => one.path === path)) {
    const content = JSON.stringify(event);
    expect(contents.get(id) ?? content, id).toBe(content);
    contents.set(id, content);
  }
}

const kinds = isLong ? (['nothing', 'all'] as const) : (['nothing'] as const);

it.concurrent('an order tells and records each change after a reset of its run to each of its tasks', {
  timeout: 600_000,
}, async () => {
  const order = await follow();
  for (const status of ['Confirmed', 'Waiting']) await order.change(status);
  await areTold(order, 'Waiting', 'before any reset');
  for (const point of await resetPoints(order.run)) {
    for (const reapply of kinds) {
      const after = `reset to ${point}, and reapplied: ${reapply}`;
      await resetRun(stack.client, order.first, point, reapply);
      await shows(order.current, { status: 'Waiting' });
      for (const status of ['Driving', 'Waiting']) {
        await order.change(status);
        await areTold(order, status, after);
      }
    }
  }
  await order.change('Completed');
  await areTold(order, 'Completed', 'its end');
  expect(await order.current.result()).toMatchObject({ outcome: 'completed' });
  expectOneContentForEachId(order.path);
});

it.concurrent('the run of an order that has ended ends as before after a reset to each of its tasks', {
  timeout: 600_000,
}, async () => {
  const order = await follow();
  await order.change('Driving');
  await order.change('Completed');
  await order.run.result();
  for (const point of await resetPoints(order.run)) {
    await resetRun(stack.client, order.first, point, 'nothing');
    expect(await order.current.result(), `reset to ${point}`).toMatchObject({ outcome: 'completed' });
    await areTold(order, 'Completed', `reset to ${point}`);
  }
  expectOneContentForEachId(order.path);
});

it('notices that wait arrive after a reset of the run that sends them to each of its tasks', async () => {
  const order = await follow();
  await areTold(order, 'Routing', 'before');
  receiver.answer(order.path, 503);
  await order.change('Completed');
  await order.run.result();
  const { notices: late } = order;
  await isPending(late, 'notifyUrl');
  const { workflowId, runId } = await late.describe();
  for (const point of await resetPoints(late)) {
    await resetRun(stack.client, { workflowId, runId }, point);
    await isPending(late, 'notifyUrl');
  }
  // While it still waits: its next attempt comes soon then.
  await actOn(stack.client, workflowId, 'notifyUrl', 'reset');
  receiver.answer(order.path, 204);
  await areTold(order, 'Completed', 'a reset');
  expect(await late.result()).toEqual({ missed: null });
  expectOneContentForEachId(order.path);
});

it('a notice and a row that wait arrive also where their order is cancelled', async () => {
  const order = await follow();
  await areTold(order, 'Routing', 'before');
  receiver.answer(order.path, 503, 503, 204);
  await postgres.pause();
  await order.change('Driving');
  await order.current.cancel();
  await expect(order.current.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  await postgres.resume();
  await areTold(order, 'Driving', 'it was cancelled');
});

const actions = isLong ? (Object.keys(activityActions) as ActivityAction[]) : (['reset'] as const);

it.each(actions)('an order goes on after an operator did this to the watch of its account: %s', async (action) => {
  const order = await follow();
  const watch = accountWatchId(toAccountName('business'), stack.config.taskQueue);
  await isPending(stack.client.workflow.getHandle(watch), 'watchOrders');
  await actOn(stack.client, watch, 'watchOrders', action);
  stack.sandbox.setStatus('business', order.orderId, 'Driving');
  await areTold(order, 'Driving', action);
  await order.change('Completed');
  expect(await order.run.result()).toMatchObject({ outcome: 'completed' });
});

it.each(actions)('an order goes on after an operator did this to a read that fails: %s', async (action) => {
  const order = await follow();
  stack.sandbox.setFault({ kind: 'serverError', orderId: order.orderId });
  await deliver(order.current, newDelivery());
  await isFailing(order.current, 'readOrder');
  await actOn(stack.client, order.first.workflowId, 'readOrder', action);
  stack.sandbox.clearFaults();
  stack.sandbox.setStatus('business', order.orderId, 'Completed');
  expect(await order.run.result()).toMatchObject({ outcome: 'completed' });
  await areTold(order, 'Completed', action);
});

it.each(actions)('a notice and a row arrive once after an operator did this to them: %s', async (action) => {
  const order = await follow();
  await areTold(order, 'Routing', 'before');
  receiver.answer(order.path, 503, 503, 204);
  await postgres.stop();
  await order.change('Driving');
  for (const [run, activity] of [
    [order.notices, 'notifyUrl'],
    [order.rows, 'recordChange'],
  ] as const) {
    await isPending(run, activity);
    await actOn(stack.client, run.workflowId, activity, action);
  }
  await postgres.start();
  await areTold(order, 'Driving', action);
  expect(receiver.taken(order.path)).toEqual(['Routing', 'Driving']);
  expect(await rowsOf(order.orderId)).toEqual(['Routing', 'Driving']);
  expect((await trailOf(order.current)).status).toBe('Driving');
  await order.current.terminate();
});
