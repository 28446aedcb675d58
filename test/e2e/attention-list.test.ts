import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ParkedDeliveryInput } from '../../src/domain/parked.js';
import { parkedDeliveryId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { runHere } from '../cli/fake-process.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { account, requestedRide } from '../support/ride/rides.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: webhookEnv() });
});
afterAll(() => stack.close());

const list = (...more: string[]) =>
  runHere(['attention', '--account', account, '--limit', '1000', ...more], {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
  });
const listed = async () => (JSON.parse((await list('--json')).stdout) as { runs: Record<string, unknown>[] }).runs;
const found = async (workflowId: string) => (await listed()).find((run) => run.workflowId === workflowId);

describe('attention', () => {
  it('shows an order with what is wrong, since when, and what helps', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    stack.sandbox.setFault({ kind: 'forbidden', orderId });
    const handle = await stack.follow('business', orderId);
    await expect
      .poll(() => found(handle.workflowId))
      .toMatchObject({
        kind: 'order',
        account,
        id: orderId,
        code: 'forbidden',
        message: expect.stringContaining('403'),
        since: expect.stringMatching(/Z$/),
        command: `order show business ${orderId}`,
      });
    expect((await list()).stdout).toMatch(
      new RegExp(`^order +business +${orderId} +forbidden +20.* order show business`, 'm'),
    );
    await handle.terminate();
  });

  it('shows a ride whose create had an unknown outcome', async () => {
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
    stack.sandbox.setFault({ kind: 'forbidden', operation: 'createOrder', times: 1 });
    const { handle, requestId } = await requestedRide(stack);
    await expect
      .poll(() => found(handle.workflowId))
      .toMatchObject({
        kind: 'ride',
        id: requestId,
        code: 'outcomeUnknown',
        message: expect.stringContaining('resolveRide'),
        command: `ride resolve business ${requestId}`,
      });
    await handle.terminate();
  });

  it('shows a delivery that is parked', async () => {
    const deliveryId = randomUUID().replaceAll('-', '');
    const receivedAt = '2031-05-01T10:00:00.000Z';
    const key = { account, deliveryId };
    const parked: ParkedDeliveryInput = {
      ...key,
      eventType: 'status_changed',
      receivedAt,
      reason: 'noOrderId',
      sealed: 'x',
    };
    const handle = await stack.client.workflow.start('parkedDelivery', {
      workflowId: parkedDeliveryId(key),
      taskQueue: stack.config.taskQueue,
      args: [parked],
    });
    const expected = { kind: 'parked', id: deliveryId, code: 'noOrderId', since: receivedAt };
    await expect.poll(() => found(handle.workflowId)).toMatchObject(expected);
    await handle.terminate();
  });

  it('shows a subscription and the token that it waits for, while credentials are refused', async () => {
    stack.sandbox.setFault({ kind: 'invalidClient' });
    const key = { account, eventType: 'business_report' as const };
    const handle = await stack.client.workflow.start('subscription', {
      workflowId: subscriptionId(key),
      taskQueue: stack.config.taskQueue,
      args: [{ ...key, publicUrl: 'http://127.0.0.1:9' }],
    });
    const wrong = {
      code: 'credentialsRejected',
      message: expect.any(String),
      since: expect.any(String),
      command: 'token list',
    };
    await expect
      .poll(() => found(handle.workflowId))
      .toMatchObject({ kind: 'subscription', id: 'business_report', ...wrong });
    const tokens = async () => (await listed()).filter(({ kind, id }) => kind === 'token' && id === 'unscoped');
    await expect.poll(tokens).toContainEqual(expect.objectContaining(wrong));
    await handle.terminate();
  });
});
