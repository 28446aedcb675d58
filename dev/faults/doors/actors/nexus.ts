import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import fc from 'fast-check';
import type { ask } from '../caller-workflows.js';
import { openTally, type Tale, type Task, tryAll } from '../tally.js';

/** What a caller in another namespace knows: the address of Temporal, an endpoint, and orders of accounts that are not offered. */
export interface KnowsEndpoint extends Task {
  address: string;
  endpoint: string;
  orderIds: readonly string[];
  /** A workflow in the namespace of the workers that this caller would like to signal. */
  victim: string;
}

const inputs = ({ orderIds, victim }: KnowsEndpoint): fc.Arbitrary<unknown> => {
  const account = fc.constantFrom('business', 'partner', 'Business', 'partner/../business', '', null, ['partner']);
  const orderId = fc.oneof(fc.constantFrom(...orderIds), fc.string(), fc.integer(), fc.constant('x"; drop'));
  const notify = fc.constant([{ workflowId: victim, signal: 'approve' }]);
  const more = { notify, followForMs: fc.integer(), again: fc.boolean(), reference: fc.string() };
  return fc.oneof(
    { weight: 9, arbitrary: fc.record({ account, orderId, ...more }, { requiredKeys: ['account', 'orderId'] }) },
    fc.jsonValue(),
  );
};

/** Calls the endpoint from a workflow in a namespace of its own. */
export async function knockAtNexus(knows: KnowsEndpoint): Promise<Tale> {
  const { address, endpoint, seed, forMs } = knows;
  const { tale, hear, make } = openTally();
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const namespace = `trips-${randomUUID()}`;
  const taskQueue = 'trips';
  const connection = await Connection.connect({ address });
  const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  const native = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL('../caller-workflows.js', import.meta.url));
  const worker = await Worker.create({ connection: native, namespace, taskQueue, workflowsPath });
  const client = new Client({ connection, namespace });
  const operation = fc.constantFrom('followOrder', 'orderTrail');
  const grammar = fc.record({ operation, input: inputs(knows) });
  await worker.runUntil(
    tryAll({ seed, forMs }, { grammar, lanes: 2, perSecond: 4 }, (one) =>
      make(async () => {
        const args = [endpoint, one.operation, one.input] as Parameters<typeof ask>;
        const answer = await client.workflow.execute<typeof ask>('ask', { workflowId: randomUUID(), taskQueue, args });
        hear(answer);
        return answer.startsWith('{') ? 'an answer' : answer.replace(/:.*/s, '');
      }),
    ),
  );
  await native.close();
  await connection.close();
  return tale;
}
