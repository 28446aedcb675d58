// A caller in a namespace of its own that follows an order through the Nexus endpoint `rides`, which worker.ts serves.
//   node dist/examples/nexus/main.js <account> <orderId>
import { fileURLToPath } from 'node:url';
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { trip } from './trip.js';

const { TEMPORAL_ADDRESS: address = 'localhost:7233', TRIPS_NAMESPACE: namespace = 'trips' } = process.env;
const { RIDES_ENDPOINT: endpoint = 'rides' } = process.env;
const [account = 'business', orderId = '42'] = process.argv.slice(2);
const taskQueue = 'trips';
const alreadyExists = 6; // gRPC
const day = 86_400;

const connection = await Connection.connect({ address });
await makeNamespace();
const native = await NativeConnection.connect({ address });
const workflowsPath = fileURLToPath(new URL('./trip.js', import.meta.url));
const worker = await Worker.create({ connection: native, namespace, taskQueue, workflowsPath });
const result = await worker.runUntil(
  new Client({ connection, namespace }).workflow.execute<typeof trip>('trip', {
    workflowId: `trip/${account}/${orderId}`,
    taskQueue,
    args: [{ endpoint, account, orderId }],
  }),
);
console.log(JSON.stringify(result));
await native.close();
await connection.close();

/** For a laptop; elsewhere an operator makes namespaces. */
async function makeNamespace(): Promise<void> {
  const workflowExecutionRetentionPeriod = { seconds: day as never };
  try {
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== alreadyExists) throw error;
  }
}
