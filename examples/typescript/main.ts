// A service with the typed client: follows an order and waits for its end.
//   node dist/examples/typescript/main.js <account> <orderId>
import { Client, Connection } from '@temporalio/client';
import { createFaretrailClient, FaretrailError } from 'faretrail';

const { TEMPORAL_ADDRESS: address = 'localhost:7233', TEMPORAL_NAMESPACE: namespace = 'default' } = process.env;
const { FARETRAIL_TASK_QUEUE: taskQueue = 'faretrail' } = process.env;
const [account = 'business', orderId = '42'] = process.argv.slice(2);

const connection = await Connection.connect({ address });
const rides = createFaretrailClient({ client: new Client({ connection, namespace }), taskQueue });
try {
  const order = await rides.follow({ account, orderId, reference: 'trip-9' });
  const now = await order.trail();
  console.log(`${orderId} is ${now.status ?? 'not read yet'}`);
  const end = await order.result();
  console.log(`${orderId} ended: ${end.outcome}, after ${end.timeline.map(({ status }) => status).join(' > ')}`);
} catch (error) {
  if (!(error instanceof FaretrailError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await connection.close();
}
