import { randomUUID } from 'node:crypto';
import type { Store } from '../../../src/store/store.js';
import { newRide } from '../../sandbox/booking-calls.js';
import { type OrderStack, shows } from '../../support/order/stack.js';
import { completes, doubtfulRide, requestedRide, rideUnderWay } from '../../support/ride/rides.js';
import { continued } from '../../support/runs.js';
import { urlsOf } from './notices.js';
import { cancelled, completed, ended, firstRunOf, type Paths } from './path.js';
import { cancelledRide } from './rides.js';

let isAway = false;
/** A store that these paths take away. */
export const movableStore: Pick<Store, 'record'> = {
  async record() {
    if (isAway) throw new Error('away');
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
  isAway = false;
  return await completed(handle);
}

/** Every way into the store, by name. */
export const recordedStorePaths: Paths = {
  'order-in-the-store': (stack) => ends(stack, follow(stack), 'Driving', 'Completed'),
  async 'order-continued-in-the-store'(stack) {
    const order = follow(stack, { maxEvents: 12, maxSignals: 100 });
    await ends(stack, order, 'Routing', 'Confirmed', 'Driving', 'Completed');
    return firstRunOf(await order.run);
  },
  async 'ride-in-the-store'(stack) {
    stack.sandbox.setBookingSettings({ script: completes, receiptAfterMs: 0, receiptChangesAfterMs: 1_200 });
    return await completed((await requestedRide(stack, { receipt: true })).handle);
  },
  async 'ride-in-doubt-in-the-store'(stack) {
    const { handle } = await doubtfulRide(stack);
    await handle.executeUpdate('resolveRide', { args: [{ tryAgain: true }] });
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
  // From here on the worker records nothing at once for a while.
  async 'order-that-ends-while-the-store-is-away'(stack) {
    const order = follow(stack);
    await shows(await order.run, { status: 'Pending' });
    isAway = true;
    return await ends(stack, order, 'Driving', 'Completed');
  },
  async 'ride-that-ends-while-the-store-is-away'(stack) {
    const { handle } = await rideUnderWay(stack);
    isAway = true;
    await cancelledRide(handle);
    isAway = false;
    return handle;
  },
};
