import type { Store } from '../../../src/store/store.js';
import { type OrderStack, shows } from '../../support/order/stack.js';
import { completed, firstRunOf, type Paths } from './path.js';

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
  async 'order-that-ends-while-the-store-is-away'(stack) {
    const order = follow(stack);
    await shows(await order.run, { status: 'Pending' });
    isAway = true;
    return await ends(stack, order, 'Driving', 'Completed');
  },
};
