// A worker with a checkout that gets a signal for each change of an order.
//   node dist/examples/checkout/main.js <account> <orderId>
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { CheckoutActivities, checkout } from './checkout.js';

const { TEMPORAL_ADDRESS: address = 'localhost:7233', TEMPORAL_NAMESPACE: namespace = 'default' } = process.env;
const { FARETRAIL_TASK_QUEUE: ridesQueue = 'faretrail' } = process.env;
const [account = 'business', orderId = '42'] = process.argv.slice(2);
const taskQueue = `checkout-${ridesQueue}`;

const activities: CheckoutActivities = {
  tellCustomer: async (text) => console.log(`to the customer: ${text}`),
  capture: async (amountMinor, currency) => console.log(`captured ${amountMinor} ${currency}`),
  release: async (amountMinor, currency) => console.log(`released ${amountMinor} ${currency}`),
};

const connection = await Connection.connect({ address });
const native = await NativeConnection.connect({ address });
const workflowsPath = fileURLToPath(new URL('./checkout.js', import.meta.url));
const worker = await Worker.create({ connection: native, namespace, taskQueue, workflowsPath, activities });
const result = await worker.runUntil(
  new Client({ connection, namespace }).workflow.execute<typeof checkout>('checkout', {
    workflowId: `checkout/${account}/${orderId}`,
    taskQueue,
    args: [{ account, orderId, amountMinor: 1_250, currency: 'EUR', ridesQueue }],
  }),
);
console.log(`paid: ${result.paid}`);
await native.close();
await connection.close();
