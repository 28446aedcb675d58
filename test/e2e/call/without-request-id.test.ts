import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../../sandbox/faults.js';
import { withoutRequestIds } from '../../support/accounts.js';
import { newOrder, startCall } from '../../support/call/calls.js';
import { type OrderStack, startOrderStack } from '../../support/order/stack.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: withoutRequestIds() });
});
afterAll(() => stack.close());

describe('where the service knows no request ids', () => {
  it.each<FaultInput>([
    { kind: 'dropConnection', when: 'answer' },
    { kind: 'dropConnection', when: 'middle' },
    { kind: 'serverError', when: 'answer' },
    { kind: 'unavailable', when: 'answer' },
    { kind: 'emptyBody' },
  ])('a create whose answer was lost is never sent again: $kind, $when', async (fault) => {
    const before = stack.sandbox.createdOrders().length;
    stack.sandbox.setFault({ ...fault, operation: 'createOrder', times: 1 });
    const handle = await startCall(stack, 'createOrder', { body: newOrder() });
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'OutcomeUnknown' } });
    expect(stack.sandbox.createdOrders()).toHaveLength(before + 1);
  });

  it('a create that was surely not taken is sent again, without the header', async () => {
    const before = stack.sandbox.createdOrders().length;
    // More than once: each attempt has to hear of the one right before it.
    stack.sandbox.setFault({ kind: 'tooManyRequests', retryAfterSeconds: 1, operation: 'createOrder', times: 3 });
    const handle = await startCall(stack, 'createOrder', { body: newOrder() });
    expect(await handle.result()).toMatchObject({ status: 201 });
    expect(stack.sandbox.createdOrders().slice(before)).toMatchObject([{ orderId: expect.any(String) }]);
    expect(stack.sandbox.createdOrders().at(-1)?.requestId).toBeUndefined();
  });
});
