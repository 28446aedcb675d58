import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { loadWorkerConfig } from '../../../src/config.js';
import { createOrderWorker, type OrderWorker } from '../../../src/order-worker.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { workerEnv } from '../../support/accounts.js';
import { quietRuntime } from '../../support/worker/runtime.js';

let connection: NativeConnection;
let worker: OrderWorker;
beforeAll(async () => {
  quietRuntime();
  connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const config = loadWorkerConfig(workerEnv('http://127.0.0.1:1'));
  worker = await createOrderWorker({
    config,
    rideApi: createRideApi({ profile: config.profile }),
    connection,
    client: new Client({ connection }),
    namespace: 'default',
    workflowBundle: { codePath: inject('workflowBundlePath') },
  });
});
afterAll(async () => {
  const running = worker.run();
  worker.shutdown();
  await running;
  await connection.close();
});

// Cutting a stretch of workflow code off ends the whole process, so a test of what happens then would not survive it.
it('a worker that stands still for half a minute in a workflow task is not ended by that', () => {
  const [{ options } = { options: undefined }] = worker.workers;
  expect(options?.isolateExecutionTimeoutMs).toBeGreaterThan(30_000);
});
