import { randomUUID } from 'node:crypto';
import type { StorePort } from '../../../src/activities/index.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { reported } from '../../support/delivery/deliveries.js';
import { noticesOf } from '../../support/notify/notices.js';
import { type OrderStack, shows } from '../../support/order/stack.js';
import { completes, doubtfulRide, requestedRide, rideUnderWay } from '../../support/ride/rides.js';
import { continued } from '../../support/runs.js';
import { urlsOf } from './notices.js';
import { cancelled, completed, ended, firstRunOf, type Paths } from './path.js';
import { cancelledRide } from './rides.js';

/** Orders whose changes the store does not take. */
const awayFrom = new Set<string>();

/** The store of these paths. */
export const pathStore: StorePort = {
  async record({ change }) {
    if (awayFrom.has(String(change.orderId))) throw new Error('away');
  },
};

const follow = (stack: OrderStack, limits?: { maxEvents: number; maxSignals: number }) => {
  const orderId = stack.newOrder('business', [['Pending', 0]]);
  return { orderId, run: stack.follow('business', orderId, {}, limits) };
};

async function ends(stack: OrderStack, { orderId, run }: ReturnType<typeof follow>, ...words: string[]) {
  const handle = await run;
  for (const word of ['Pending', ...words]) {
    stack.sandbox.setStatus('business', orderId, word);
    await shows(handle, { status: word });
  }
  return await completed(handle);
}

/** Every way into the store, by name. */
export const recordedStorePaths: Paths = {
  'order-in-the-store': (stack) => ends(stack, follow(stack), 'Driving', 'Completed'),
  async 'order-with-a-late-reference-in-the-store'(stack) {
    const order = follow(stack);
    const handle = await order.run;
    await shows(handle, { status: 'Pending' });
    await handle.signal('followRequested', { reference: 'trip-9' });
    await shows(handle, { reference: 'trip-9' });
    return await ends(stack, order, 'Completed');
  },
  async 'notices-for-the-store'(stack) {
    const order = follow(stack);
    awayFrom.add(order.orderId);
    const told = noticesOf(stack, await ends(stack, order, 'Completed'), 'store');
    awayFrom.delete(order.orderId);
    return await completed(told);
  },
  async 'order-continued-in-the-store'(stack) {
    const order = follow(stack, { maxEvents: 12, maxSignals: 100 });
    await ends(stack, order, 'Routing', 'Confirmed', 'Driving', 'Completed');
    return firstRunOf(await order.run);
  },
  async 'ride-in-the-store'(stack) {
    stack.sandbox.setRideSettings({ script: completes, receiptAfterMs: 0, receiptChangesAfterMs: [1_200] });
    return await completed((await requestedRide(stack, { receipt: true })).handle);
  },
  'report-in-the-store'(stack) {
    stack.sandbox.setRideSettings({ receiptAfterMs: 0, receiptChangesAfterMs: [] });
    const orderId = toOrderId(stack.newOrder('business', [['Completed', 0]]));
    return completed(reported(stack, { orderId, limits: { quietMs: 1_500 } }));
  },
  async 'ride-in-doubt-in-the-store'(stack) {
    const { handle, resolve } = await doubtfulRide(stack);
    await resolve({ tryAgain: true });
    return await cancelledRide(handle);
  },
  async 'ride-refused-in-the-store'(stack) {
    return await ended((await requestedRide(stack, { order: newRide({ product_id: randomUUID() }) })).handle);
  },
  async 'ride-continued-in-the-store'(stack) {
    const { handle } = await rideUnderWay(stack, { notify: urlsOf(stack, '/silent', '/told') }, { maxEvents: 20 });
    await continued(handle);
    await cancelledRide(handle);
    return firstRunOf(handle);
  },
  async 'ride-after-continue-in-the-store'(stack) {
    const { handle } = await rideUnderWay(stack, { notify: urlsOf(stack, '/told') }, { maxEvents: 20 });
    await continued(handle);
    return await cancelledRide(handle);
  },
  'ride-run-cancelled-in-the-store': async (stack) => cancelled((await rideUnderWay(stack)).handle),
};
