import { randomUUID } from 'node:crypto';
import { toOrderId } from '../../../src/domain/keys.js';
import { newOrder, startCall } from '../../support/call/calls.js';
import { cancelled, completed, ended, type Paths } from './path.js';

/** Every way through `businessCall`. */
export const callPaths: Paths = {
  'call-done': (stack) => completed(startCall(stack, 'createOrder', { body: newOrder() })),
  'call-refused': (stack) => ended(startCall(stack, 'createOrder', { body: newOrder({ product_id: randomUUID() }) })),
  'call-with-bad-input': (stack) => ended(startCall(stack, 'cancelOrder')),
  async 'call-cancelled'(stack) {
    const fault = stack.sandbox.setFault({ kind: 'slow', operation: 'orderDetails', delayMs: 5_000 });
    const call = await cancelled(startCall(stack, 'orderDetails', { orderId: toOrderId('4711') }));
    stack.sandbox.clearFault(fault);
    return call;
  },
};
