import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  proxySinks,
  type Sinks,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { nextReadMs } from '../../../src/domain/order/cadence.js';
import type { TrackerActivities } from './activities.js';
import { jittered, type TrackedOrder, type TrackOrderInput } from './tracked-order.js';

const { readStatus } = proxyActivities<TrackerActivities>({ startToCloseTimeout: 30_000 });

export const trackedOrderQuery = defineQuery<TrackedOrder>('trackedOrder');

/** Polls an order until it ends, as the public samples teach: read in an activity, compare, sleep, read again. */
export async function trackOrder({ account, orderId, cadence, tracked }: TrackOrderInput): Promise<TrackedOrder> {
  const order: TrackedOrder = tracked ?? { status: null, since: Date.now(), timeline: [] };
  setHandler(trackedOrderQuery, () => order);
  for (;;) {
    const { status, terminal } = await readStatus(account, orderId);
    if (status !== order.status) {
      order.status = status;
      order.since = Date.now();
      order.timeline.push({ status, at: new Date().toISOString() });
    }
    if (terminal) return order;
    const everyMs = nextReadMs({ ...order, scheduledAt: null, pushed: false, now: Date.now() }, cadence);
    await sleep(jittered(everyMs));
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof trackOrder>({ account, orderId, cadence, tracked: order });
    }
  }
}

/** Tells the bench that a change was handled, so that the next one gets a workflow task of its own. */
export interface ChangeSinks extends Sinks {
  changes: { handled(orderId: string): void };
}

const { changes } = proxySinks<ChangeSinks>();

export const orderChangedSignal = defineSignal<[{ status: string; terminal: boolean }]>('orderChanged');

/** Believes each signal and reads nothing: the least that a workflow costs which is told of each change. */
export async function bareOrder(orderId: string): Promise<{ status: string }[]> {
  const timeline: { status: string }[] = [];
  let isOver = false;
  setHandler(orderChangedSignal, ({ status, terminal }) => {
    timeline.push({ status });
    isOver = terminal;
    changes.handled(orderId);
  });
  changes.handled(orderId); // the start
  await condition(() => isOver);
  return timeline;
}
