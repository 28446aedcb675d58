import { expect, it } from 'vitest';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { shows, useOrderStack } from '../../support/order/stack.js';
import { eventsOf } from '../../support/runs.js';

/** No poll finds a change before a delivery or a caller does. */
const stack = useOrderStack({ env: { FARETRAIL_POLL_ACTIVE_MS: '600000' } });

it('an order that becomes announced keeps its poll; another one begins once a caller finds an unannounced change, even back to where the first began', async () => {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId);
  const polls = async (): Promise<number> => {
    const names = (await eventsOf(handle)).map(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name,
    );
    return names.filter((name) => name === 'observeOrder').length;
  };
  await shows(handle, { status: 'Routing' });
  for (const status of ['Confirmed', 'Driving']) {
    stack.sandbox.setStatus('business', orderId, status);
    await deliver(handle, newDelivery());
    await shows(handle, { status, pushed: true });
  }
  await expect.poll(polls).toBe(1);
  stack.sandbox.setStatus('business', orderId, 'Routing');
  expect(await handle.executeUpdate('refreshOrder')).toMatchObject({ status: 'Routing', pushed: false });
  await expect.poll(polls).toBe(2);
  await handle.terminate();
});
