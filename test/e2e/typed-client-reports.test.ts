import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFaretrailClient, type FaretrailClient, InvalidInput } from '../../src/client/index.js';
import { toAccountName } from '../../src/domain/keys.js';
import { createDeliveryPort } from '../../src/temporal/deliveries.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';

const account = toAccountName('business');
const receivedAt = '2031-05-01T10:00:00.000Z';
const newDeliveryId = () => randomUUID().replaceAll('-', '');

let receiver: NotifyReceiver;
let stack: OrderStack;
let rides: FaretrailClient;
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  stack = await startOrderStack({ env: receiver.env });
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});
afterAll(async () => {
  await stack.close();
  await receiver.close();
});

const deliveries = () =>
  createDeliveryPort({ client: stack.client, taskQueue: stack.config.taskQueue, untracked: () => 'follow' });

describe('the typed client', () => {
  it('adds a receiver to an order that is followed: it is told where the order stands, then of the rest', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    const order = await rides.follow({ account, orderId });
    await expect.poll(() => order.trail()).toMatchObject({ status: 'Routing' });
    await order.notify([{ url: `${receiver.origin}/joined` }]);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await order.result();
    await expect.poll(() => receiver.taken('/joined')).toEqual(['Routing', 'Completed']);
    await expect(order.notify([{ url: `${receiver.origin}/late` }])).rejects.toMatchObject({ code: 'AlreadyEnded' });
  });

  it.each([[[]], [[{ url: 'ftp://x' }]], [[{ workflowId: 'w' }]]])('refuses as receivers %j', async (receivers) => {
    const order = rides.get(account, '42');
    await expect(order.notify(receivers as never)).rejects.toThrow(InvalidInput);
  });

  it('follows the reports about an order from before the first one', async () => {
    const orderId = stack.newOrder('business', [['Completed', 0]]);
    const input = { account, orderId, notify: [{ url: `${receiver.origin}/reports` }] };
    const reports = await rides.followReports(input);
    expect(await reports.report()).toMatchObject({ orderId, reports: [], receipt: null });
    await rides.followReports(input); // once however often it is asked for
    const notice = { deliveryId: newDeliveryId(), eventType: 'business_report', receivedAt };
    await deliveries().toReport({ account, about: orderId as never }, [notice]);
    await expect.poll(() => receiver.received.filter(({ path }) => path === '/reports').length).toBe(1);
    const shown = await rides.getReports(account, orderId).report();
    expect(shown).toMatchObject({ reports: [{ deliveryId: notice.deliveryId }], receipt: expect.any(Object) });
    await stack.client.workflow.getHandle(reports.workflowId).terminate();
    await expect(reports.result()).rejects.toMatchObject({ code: 'Terminated' });
  });

  it('shows a delivery that nobody could place, and routes or discards it', async () => {
    const park = async () => {
      const deliveryId = newDeliveryId();
      const kept = { account, deliveryId, receivedAt, eventType: 'status_changed', reason: 'noOrderId' } as const;
      await deliveries().park({ ...kept, sealed: 'sealed' });
      return rides.getParked(account, deliveryId);
    };
    const first = await park();
    expect(await first.state()).toMatchObject({ reason: 'noOrderId', outcome: 'waiting', orderId: null });
    const orderId = stack.newOrder('business', [['Completed', 0]]);
    expect(await first.route(orderId)).toMatchObject({ outcome: 'routed', orderId, handedOver: 'started' });
    await expect(first.discard('too late')).rejects.toMatchObject({ code: 'AlreadyEnded' });
    const second = await park();
    expect(await second.discard('a test')).toMatchObject({ outcome: 'discarded', discardReason: 'a test' });
    expect(() => rides.getParked(account, 'x')).toThrow(InvalidInput);
  });
});
