import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { changesBetween, changeText } from '../../../src/cli/order/view.js';
import { paint } from '../../../src/cli/text.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { orderTrailQuery } from '../../../src/workflows/messages.js';
import type { followOrder } from '../../../src/workflows/order/follow-order.js';
import { type SampleOrder, sampleOrders } from '../../sandbox/order/sample-orders.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

/** A sample order with a run that follows it. */
export interface SampleRide {
  name: string;
  orderId: string;
  handle: WorkflowHandle<typeof followOrder>;
  /** All statuses of its script. */
  script: readonly string[];
}

/** In reality a step takes seconds to an hour. Here each lasts long enough for a person to read it. */
export const stepMs = 3_000;
const lookEveryMs = 500;

const paced = ({ script }: SampleOrder) => script.map(({ status }, step) => ({ status, afterMs: step * stepMs }));

/** Adds the sample orders to the sandbox and starts following them. */
export async function followSamples(sandbox: Sandbox, client: Client, taskQueue: string): Promise<SampleRide[]> {
  const run = Date.now().toString(36);
  return await Promise.all(
    Object.entries(sampleOrders).map(async ([label, sample]) => {
      const orderId = `${label}-${run}`;
      const key = { account: toAccountName(sample.interface), orderId: toOrderId(orderId) };
      const isScheduled = 'pickupAfterMs' in sample;
      const scheduled = isScheduled ? { scheduledAt: new Date(Date.now() + 4 * stepMs).toISOString() } : {};
      sandbox.addOrder({ interface: sample.interface, orderId, script: paced(sample), ...scheduled });
      const handle = await client.workflow.start<typeof followOrder>('followOrder', {
        workflowId: followOrderId(key),
        taskQueue,
        args: [{ ...key, reference: sample.name, ...scheduled }],
        staticSummary: `${sample.name}: order ${orderId} of account ${key.account}`,
      });
      return { name: sample.name, orderId, handle, script: sample.script.map(({ status }) => status) };
    }),
  );
}

/** Prints each change. Resolves with the trail once the order has ended. */
export async function showLive(ride: SampleRide, say: (line: string) => void): Promise<OrderTrail> {
  const label = ride.orderId.padEnd(24);
  let before: OrderTrail | null = null;
  for (;;) {
    await sleep(lookEveryMs);
    const trail: OrderTrail = await ride.handle.query(orderTrailQuery);
    const isOpen = trail.outcome === null;
    const came = trail.deliveries.received - (before?.deliveries.received ?? 0);
    if (came > 0)
      say(`${label} ${paint('faint', came === 1 ? 'a delivery has come' : `${came} deliveries have come`)}`);
    for (const change of changesBetween(before, { trail, isOpen })) say(`${label} ${changeText(change)}`);
    if (!isOpen) return await ride.handle.result();
    before = trail;
  }
}

/** The fault in an ended sample; null if it has none. */
export function findFault({ script }: SampleRide, trail: OrderTrail): string | null {
  const last = script.at(-1);
  if (trail.status !== last) return `ended as ${trail.status}, should be ${last}`;
  const seen = trail.timeline.map(({ rawStatus }) => rawStatus);
  const missing = script.filter((status) => !seen.includes(status));
  return missing.length === 0 ? null : `never seen: ${missing.join(', ')}`;
}
