import { randomUUID } from 'node:crypto';
import { toOrderId } from '../../../src/domain/keys.js';
import { newOrder, startCall } from '../../support/call/calls.js';
import type { OrderStack } from '../../support/order/stack.js';
import type { RecordedRun } from './deliveries.js';

type Path = (stack: OrderStack) => Promise<RecordedRun>;

/** Every way through `businessCall`. */
export const callPaths: Record<string, Path> = {
  async 'call-done'(stack) {
    const handle = await startCall(stack, 'createOrder', { body: newOrder() });
    await handle.result();
    return handle;
  },
  async 'call-refused'(stack) {
    const handle = await startCall(stack, 'createOrder', { body: newOrder({ product_id: randomUUID() }) });
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'call-with-bad-input'(stack) {
    const handle = await startCall(stack, 'cancelOrder');
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'call-cancelled'(stack) {
    const fault = stack.sandbox.setFault({ kind: 'slow', operation: 'orderDetails', delayMs: 5_000 });
    const handle = await startCall(stack, 'orderDetails', { orderId: toOrderId('4711') });
    await handle.cancel();
    await handle.result().catch(() => undefined);
    stack.sandbox.clearFault(fault);
    return handle;
  },
};
