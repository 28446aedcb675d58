// Serves other namespaces through the Nexus endpoint `rides`, for the accounts that it is given. Runs until Ctrl-C.
//   node dist/examples/nexus/worker.js <account>...
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createRidesService } from './handlers.js';

const { TEMPORAL_ADDRESS: address = 'localhost:7233', TEMPORAL_NAMESPACE: namespace = 'default' } = process.env;
const { FARETRAIL_TASK_QUEUE: ridesQueue = 'faretrail', RIDES_ENDPOINT: endpoint = 'rides' } = process.env;
const accounts = new Set(process.argv.slice(2));
const taskQueue = `nexus-${ridesQueue}`;
const alreadyExists = 6; // gRPC

const admin = await Connection.connect({ address });
await makeEndpoint();
await admin.close();
const connection = await NativeConnection.connect({ address });
const nexusServices = [createRidesService({ accounts, ridesQueue })];
const worker = await Worker.create({ connection, namespace, taskQueue, nexusServices });
console.log(`endpoint ${endpoint} serves ${[...accounts].join(', ') || 'no account'}`);
await worker.run();
await connection.close();

/** For a laptop; elsewhere an operator makes endpoints, and Temporal's authorizer decides who may use them. */
async function makeEndpoint(): Promise<void> {
  const spec = { name: endpoint, target: { worker: { namespace, taskQueue } } };
  try {
    await admin.operatorService.createNexusEndpoint({ spec });
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== alreadyExists) throw error;
  }
}
