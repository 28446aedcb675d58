import { expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import type { ListedOrder } from '../../../src/domain/watch.js';
import { createWatchPort } from '../../../src/temporal/watches.js';
import { followRequestedSignal, watchedOrderQuery } from '../../../src/workflows/messages.js';
import { deliver, deliveryOf } from '../../support/delivery/deliveries.js';
import { type FollowHandle, shows, slowPolls, useOrderStack } from '../../support/order/stack.js';

const stack = useOrderStack(slowPolls);

const pickup = '2031-05-01T08:30:00.000Z';
const longLived = { maxEvents: 10_000, maxSignals: 5_000 };
const continued = { maxEvents: 12, maxSignals: 100 };

/** What Temporal shows of an order, to a process that takes the watch over. */
async function listed(orderId: string): Promise<ListedOrder | undefined> {
  const { client, config } = stack;
  const found: ListedOrder[] = [];
  for await (const page of createWatchPort(client, config.taskQueue, null).list(toAccountName('business')))
    found.push(...page.filter((order) => order.orderId === orderId));
  return found[0];
}

it.each<[string, object, typeof continued, (run: FollowHandle) => unknown]>([
  ['on demand', {}, longLived, () => undefined],
  ['with a pick-up', { scheduledAt: pickup }, longLived, () => undefined],
  [
    'whose pick-up a caller has moved',
    {},
    longLived,
    (run) => run.signal(followRequestedSignal, { scheduledAt: pickup }),
  ],
  ['whose changes are announced', {}, longLived, (run) => deliver(run, deliveryOf('Driving'))],
  ['whose run has continued as new', { scheduledAt: pickup }, continued, (run) => deliver(run, deliveryOf('Driving'))],
  ['in need of a person', {}, longLived, (run) => deliver(run, deliveryOf('CareReq'))],
])('Temporal shows all that the watch has to know of an order %s', async (_, input, limits, happens) => {
  const orderId = stack.newOrder('business', [['Routing', 0]], { scheduled_at: null });
  const run = await stack.follow('business', orderId, input, limits);
  await shows(run, { status: 'Routing' });
  await happens(run);
  const known = () => run.query(watchedOrderQuery);
  await expect.poll(async () => listed(orderId)).toEqual({ ...(await known()), isExact: true });
  await run.terminate();
});
