import type { Client, WorkflowHandle } from '@temporalio/client';
import { defaultCadence } from '../../src/config.js';
import type { Cadence, RideInterface } from '../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import type { followOrder } from '../../src/workflows/order/follow-order.js';
import type { trackOrder } from './baseline/workflows.js';

/** Our worker, and the plain tracker for comparison. */
export const sides = ['faretrail', 'plain'] as const;
export type Side = (typeof sides)[number];

/** An order in the form that both sides take. An account has the name of its interface. */
export interface BenchOrder {
  at: RideInterface;
  orderId: string;
}

interface StartContext {
  client: Client;
  taskQueue: string;
  /** The pace of the plain tracker. */
  cadence: Cadence | undefined;
}

/** Starts the workflow that follows this order. */
export function startOrder(side: Side, order: BenchOrder, context: StartContext): Promise<WorkflowHandle> {
  const { client, taskQueue, cadence = defaultCadence } = context;
  const key = { account: toAccountName(order.at), orderId: toOrderId(order.orderId) };
  if (side === 'faretrail') {
    const options = { workflowId: followOrderId(key), taskQueue, args: [key] as [typeof key] };
    return client.workflow.start<typeof followOrder>('followOrder', options);
  }
  return client.workflow.start<typeof trackOrder>('trackOrder', {
    workflowId: `track/${order.at}/${order.orderId}`,
    taskQueue,
    args: [{ ...key, cadence }],
  });
}
