import { randomUUID } from 'node:crypto';
import type { SignalReceiver } from '../../../src/domain/notify/receivers.js';
import type { OrderChange } from '../../../src/domain/order/trail.js';
import type { OrderStack } from '../order/stack.js';
import { signalsTo } from '../runs.js';

/** A workflow that takes the signals of `notify`, and what it was told. */
export interface ToldWorkflow {
  receiver: SignalReceiver;
  told(): Promise<OrderChange[]>;
  /** Status and outcome of each. */
  course(): Promise<[string | null, string | null][]>;
  end(): Promise<unknown>;
}

/** Any workflow takes a signal; this one, of a type that no worker knows here, keeps it in its history. */
export async function startToldWorkflow({ client }: OrderStack): Promise<ToldWorkflow> {
  const workflowId = `receiver-${randomUUID()}`;
  const handle = await client.workflow.start('receiver', { workflowId, taskQueue: `none-${workflowId}` });
  const told = () => signalsTo<OrderChange>(handle);
  return {
    receiver: { workflowId, signal: 'rideChanged' },
    told,
    course: async () => (await told()).map(({ status, outcome }) => [status, outcome]),
    end: () => handle.terminate(),
  };
}
