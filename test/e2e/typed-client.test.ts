import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createFaretrailClient,
  type FaretrailClient,
  FaretrailClientError,
  InvalidInput,
} from '../../src/client/index.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';

// Polls are so slow here that what is seen was asked for.
const slowPolls = { FARETRAIL_POLL_ACTIVE_MS: '3600000' };

let stack: OrderStack;
let rides: FaretrailClient;
beforeAll(async () => {
  stack = await startOrderStack({ env: slowPolls });
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});
afterAll(() => stack.close());

const newOrder = (status: string) => stack.newOrder('business', [[status, 0]]);

describe('following with the typed client', () => {
  it('gives the trail, a fresh read and the end', async () => {
    const orderId = newOrder('Routing');
    const order = await rides.follow({ account: 'business', orderId, reference: 'trip-9' });
    expect(await order.refresh()).toMatchObject({ orderId, reference: 'trip-9', status: 'Routing', outcome: null });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await order.refresh();
    expect(await order.result()).toMatchObject({ status: 'Completed', outcome: 'completed' });
    expect(await order.trail()).toEqual(await order.result());
  });

  it('twice is following once, and an ended order gives its end', async () => {
    const orderId = newOrder('Routing');
    await rides.follow({ account: 'business', orderId, reference: 'first' });
    const second = await rides.follow({ account: 'business', orderId, reference: 'second' });
    expect(await second.stop('entered twice')).toMatchObject({ reference: 'first', outcome: 'stopped' });
    const third = await rides.follow({ account: 'business', orderId });
    expect(await third.result()).toMatchObject({ reference: 'first', outcome: 'stopped' });
  });

  it.each([
    ['an unknown field', { account: 'business', orderId: '1', poll: 5 }, 'poll'],
    ['a bad account', { account: 'Not A Name', orderId: '1' }, 'account'],
    ['a bad instant', { account: 'business', orderId: '1', scheduledAt: 'tomorrow' }, 'scheduledAt'],
    ['no order id', { account: 'business' }, 'orderId'],
  ])('refuses %s before anything is sent, and names it', async (_, input, named) => {
    const refused = rides.follow(input as never);
    await expect(refused).rejects.toThrow(InvalidInput);
    await expect(refused).rejects.toThrow(named);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a call without its order', () => rides.call({ account: 'business', operation: 'orderDetails', key: 'k' })],
    ['a call with an unknown field', () => rides.call({ account: 'business', also: 1 } as never)],
    ['half a decision', () => rides.getRide('business', 'r').resolve({ tryAgain: false } as never)],
    ['a stop without a reason', () => rides.get('business', '1').stop('')],
  ])('refuses %s, also before anything is sent', async (_, ask) => {
    await expect(ask()).rejects.toThrow(InvalidInput);
  });

  it('says by code that a run is unknown, or has ended', async () => {
    const nobody = rides.get('business', randomUUID());
    for (const ask of [nobody.trail, nobody.refresh, nobody.result]) {
      await expect(ask()).rejects.toMatchObject({ code: 'NotFound' });
    }
    const ended = await rides.follow({ account: 'business', orderId: newOrder('Cancelled') });
    await ended.result();
    await expect(ended.refresh()).rejects.toMatchObject({ name: 'FaretrailClientError', code: 'AlreadyEnded' });
  });

  it('says by code how a run was ended from outside', async () => {
    const orderId = newOrder('Driving');
    const order = await rides.follow({ account: 'business', orderId });
    await stack.client.workflow.getHandle(order.workflowId).terminate('by an operator');
    await expect(order.result()).rejects.toMatchObject({ code: 'Terminated' });
  });

  it('does not wait for ever where no worker answers', async () => {
    const away = createFaretrailClient({ client: stack.client, taskQueue: `nobody-${randomUUID()}` });
    const order = await away.follow({ account: 'business', orderId: randomUUID() });
    const asked = order.refresh({ withinMs: 1_000 });
    await expect(asked).rejects.toThrow(FaretrailClientError);
    await expect(asked).rejects.toMatchObject({ code: 'NoAnswer' });
    await stack.client.workflow.getHandle(order.workflowId).terminate();
  });
});
