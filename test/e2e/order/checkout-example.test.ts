import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import type { CheckoutActivities, checkout } from '../../../examples/checkout/checkout.js';
import type { followOrder } from '../../../src/workflows/order/follow-order.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { useCallerWorker } from '../../support/worker/caller-worker.js';

const done: string[] = [];
const activities: CheckoutActivities = {
  tellCustomer: async (text) => void done.push(text),
  capture: async (amountMinor, currency) => void done.push(`captured ${amountMinor} ${currency}`),
  release: async (amountMinor, currency) => void done.push(`released ${amountMinor} ${currency}`),
};

const stack = useOrderStack();
const caller = useCallerWorker(stack, { namespace: 'default', activities });

async function checkoutOf(orderId: string, account = 'business') {
  const workflowId = `checkout/${randomUUID()}`;
  const { taskQueue, client } = caller;
  const args: Parameters<typeof checkout> = [
    { account, orderId, amountMinor: 1_250, currency: 'EUR', ridesQueue: stack.config.taskQueue },
  ];
  done.length = 0;
  return await client.workflow.start<typeof checkout>('checkout', { workflowId, taskQueue, args });
}

/** What the run had to tell: on a busy machine a first status may have passed before the first read. */
async function toldOf(orderId: string, end: string): Promise<string[]> {
  const { timeline } = await stack.client.workflow.getHandle<typeof followOrder>(`order/business/${orderId}`).result();
  return [...timeline.slice(0, -1).map(({ status }) => status), end];
}

it('a checkout gets the changes of an order whose run a delivery had started before', async () => {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  await stack.follow('business', orderId);
  const handle = await checkoutOf(orderId);
  await vi.waitFor(() => expect(done).toEqual(['Routing']), patient);
  stack.sandbox.setStatus('business', orderId, 'Completed');
  expect(await handle.result()).toEqual({ paid: true, told: ['Routing', 'completed'] });
  expect(done).toEqual(['Routing', 'completed', 'captured 1250 EUR']);
});

it('a checkout gives the money back for a ride that was not completed, and ignores a signal that is no change', async () => {
  const orderId = stack.newOrder('business', [
    ['Routing', 0],
    ['Cancelled', 1_500],
  ]);
  const handle = await checkoutOf(orderId);
  const status = { status: 'Driving', rawStatus: 'Driving', terminal: false, outcome: null };
  const attentive = { account: 'business', orderId, ...status, attention: { code: 7 } };
  for (const junk of [null, 7, 'x', {}, { orderId, status: 'Completed' }, attentive])
    await handle.signal('orderChanged', junk);
  expect(await handle.result()).toEqual({ paid: false, told: await toldOf(orderId, 'cancelled') });
  expect(done.at(-1)).toBe('released 1250 EUR');
});
