import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createFaretrailClient,
  type FaretrailClient,
  FaretrailClientError,
  InvalidInput,
} from '../../src/client/index.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { toDeliveryId } from '../../src/domain/parked.js';
import { newDelivery, newReport, portOf } from '../support/delivery/deliveries.js';
import { useNotifyReceiver } from '../support/notify/receiver.js';
import { slowPolls, useOrderStack } from '../support/order/stack.js';

const account = toAccountName('business');
const receiver = useNotifyReceiver();
// Polls are so slow here that what is seen was asked for.
const stack = useOrderStack(() => ({ env: { ...slowPolls.env, ...receiver.env } }));
let rides: FaretrailClient;
beforeAll(() => {
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});

const newOrder = (status: string) => stack.newOrder('business', [[status, 0]]);

describe('following with the typed client', () => {
  it('gives the trail, a fresh read and the end', async () => {
    const orderId = newOrder('Routing');
    const order = await rides.follow({ account, orderId, reference: 'trip-9' });
    expect(await order.refresh()).toMatchObject({ orderId, reference: 'trip-9', status: 'Routing', outcome: null });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await order.refresh();
    expect(await order.result()).toMatchObject({ status: 'Completed', outcome: 'completed' });
    expect(await order.trail()).toEqual(await order.result());
  });

  it('adds a receiver to an order that is followed: it is told where the order stands, then of the rest', async () => {
    const orderId = newOrder('Routing');
    const order = await rides.follow({ account, orderId });
    await order.refresh();
    await order.notify([{ url: `${receiver.origin}/joined` }]);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await order.refresh();
    await order.result();
    await expect.poll(() => receiver.taken('/joined')).toEqual(['Routing', 'Completed']);
    await expect(order.notify([{ url: `${receiver.origin}/late` }])).rejects.toMatchObject({ code: 'AlreadyEnded' });
  });

  it('says by code that a run is unknown, or has ended', async () => {
    const unknown = rides.get(account, randomUUID());
    for (const ask of [unknown.trail, unknown.refresh, unknown.result]) {
      await expect(ask()).rejects.toMatchObject({ code: 'NotFound' });
    }
    const ended = await rides.follow({ account, orderId: newOrder('Cancelled') });
    await ended.result();
    await expect(ended.refresh()).rejects.toMatchObject({ name: 'FaretrailClientError', code: 'AlreadyEnded' });
  });

  it('does not wait for ever where no worker answers, and says by code that an operator terminated the run', async () => {
    const away = createFaretrailClient({ client: stack.client, taskQueue: `unserved-${randomUUID()}` });
    const order = await away.follow({ account, orderId: randomUUID() });
    const asked = order.refresh({ withinMs: 1_000 });
    await expect(asked).rejects.toThrow(FaretrailClientError);
    await expect(asked).rejects.toMatchObject({ code: 'NoAnswer' });
    await stack.client.workflow.getHandle(order.workflowId).terminate('by an operator');
    await expect(order.result()).rejects.toMatchObject({ code: 'Terminated' });
  });
});

const follow = (input: object) => rides.follow(input as never);
const notify = (...receivers: object[]) => rides.get(account, '42').notify(receivers as never);
it.each<[string, () => Promise<unknown>, string]>([
  ['an unknown field', () => follow({ account, orderId: '1', poll: 5 }), 'poll'],
  ['no receiver', () => notify(), 'notify'],
  ['a receiver with a bad URL', () => notify({ url: 'ftp://x' }), 'notify[0].url'],
  ['a call without its order', () => rides.call({ account, operation: 'orderDetails', key: 'k' }), 'orderId'],
  ['half a decision', () => rides.getRide(account, 'r').resolve({ tryAgain: false } as never), 'tryAgain'],
  ['a stop without a reason', () => rides.get(account, '1').stop(''), 'reason'],
  ['a delivery id that is none', async () => rides.getParked(account, 'x'), 'deliveryId'],
])('the typed client refuses %s before it sends anything, and names it', async (_, ask, named) => {
  const refused = ask();
  await expect(refused).rejects.toThrow(InvalidInput);
  await expect(refused).rejects.toThrow(named);
});

it('the typed client follows the reports about an order from before the first one', async () => {
  const orderId = toOrderId(newOrder('Completed'));
  const input = { account, orderId, notify: [{ url: `${receiver.origin}/reports` }] };
  const reports = await rides.followReports(input);
  expect(await reports.report()).toMatchObject({ orderId, reports: [], receipt: null });
  await rides.followReports(input); // it is followed once, however often a caller says so
  const report = newReport();
  await portOf(stack).toReport({ account, about: orderId }, [report]);
  await expect.poll(() => receiver.received.filter(({ path }) => path === '/reports').length).toBe(1);
  const shown = await rides.getReports(account, orderId).report();
  expect(shown).toMatchObject({ reports: [{ deliveryId: report.deliveryId }], receipt: expect.any(Object) });
  await stack.client.workflow.getHandle(reports.workflowId).terminate();
  await expect(reports.result()).rejects.toMatchObject({ code: 'Terminated' });
});

it('the typed client shows a parked delivery, and routes or discards it', async () => {
  const park = async () => {
    const { deliveryId, receivedAt } = newDelivery();
    const kept = { account, receivedAt, eventType: 'status_changed', reason: 'noOrderId', sealed: 'sealed' } as const;
    await portOf(stack).park({ ...kept, deliveryId: toDeliveryId(deliveryId) });
    return rides.getParked(account, deliveryId);
  };
  const first = await park();
  expect(await first.state()).toMatchObject({ reason: 'noOrderId', outcome: 'waiting', orderId: null });
  const orderId = newOrder('Completed');
  expect(await first.route(orderId)).toMatchObject({ outcome: 'routed', orderId, handedOver: 'started' });
  await expect(first.discard('too late')).rejects.toMatchObject({ code: 'AlreadyEnded' });
  const second = await park();
  expect(await second.discard('a test')).toMatchObject({ outcome: 'discarded', discardReason: 'a test' });
});
