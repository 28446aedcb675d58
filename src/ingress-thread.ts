// The thread of an ingress that speaks with Temporal, started by webhooks/delivery-port.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { Client, Connection } from '@temporalio/client';
import { promptConnectionOptions } from './temporal/connection.js';
import { createDeliveryPort } from './temporal/deliveries.js';
import { loadTemporalSettings } from './temporal/settings.js';
import { type Answer, type Question, TemporalUnavailable, type ThreadSettings } from './webhooks/delivery-port.js';

const { taskQueue, untracked } = workerData as ThreadSettings;
const { connectionOptions, namespace, dataConverter } = loadTemporalSettings(process.env);
// No call is made here: deliveries are taken whether or not Temporal is up.
const connection = Connection.lazy({ ...connectionOptions, ...promptConnectionOptions });
const port = createDeliveryPort({
  client: new Client({ connection, namespace, dataConverter }),
  taskQueue,
  // A delivery of an account that has left the settings since it was taken must not start anything.
  untracked: (account) => untracked[account] ?? 'ignore',
});

async function answer({ id, call, args }: Question): Promise<Answer> {
  const act = port[call] as (...args: unknown[]) => Promise<unknown>;
  try {
    return { id, value: await act(...args) };
  } catch (error) {
    // As text: what the client throws holds things that cannot be sent.
    const reason = error instanceof Error ? error.message : 'a delivery could not be forwarded';
    return { id, reason, isOut: error instanceof TemporalUnavailable };
  }
}

parentPort?.on('message', async (question: Question) => parentPort?.postMessage(await answer(question)));
