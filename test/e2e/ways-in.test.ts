import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { requestRide } from '../../src/workflows/ride/request-ride.js';
import { inMs, newRide } from '../dev/sandbox/booking-calls.js';
import { useOrderStack } from '../support/order/stack.js';
import { type RideKey, useWaysIn, type WayIn } from '../support/order/ways-in.js';
import { account, completes, goesOn, ordersOf, stands } from '../support/ride/rides.js';

const stack = useOrderStack();
const ways = useWaysIn(stack);
beforeEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setRideSettings({ script: goesOn });
});

const newKey = (): RideKey => ({ account, requestId: randomUUID() });

/** A ride that a caller waits for, once the run is in this state. */
async function requested(way: WayIn, standing: object, order: Record<string, unknown> = newRide()) {
  const key = newKey();
  const end = way.ride({ ...key, order });
  end.catch(() => undefined); // awaited by the test
  await expect.poll(() => ordersOf(stack, key.requestId).length).toBe(1);
  const [{ orderId = '' } = {}] = ordersOf(stack, key.requestId);
  await stands(
    stack.client.workflow.getHandle<typeof requestRide>(`ride/${account}/${key.requestId}`) as never,
    standing,
  );
  return { key, end, orderId };
}

describe.each(['client', 'cli'] as const)('through the way %s', (name) => {
  it('a ride is ordered once however often a caller asks for it, and its end is told afterwards, too', async () => {
    stack.sandbox.setRideSettings({ script: completes });
    const input = { ...newKey(), order: newRide() };
    const [one, two] = await Promise.all([ways[name].ride(input), ways[name].ride(input)]);
    expect(one).toMatchObject({ requestId: input.requestId, outcome: 'completed', trail: { status: 'Completed' } });
    expect(two).toEqual(one);
    expect(await ways[name].ride(input)).toEqual(one);
    expect(ordersOf(stack, input.requestId)).toHaveLength(1);
  });

  it('a ride is changed where the service allows it, and cancelled; then it takes no change any more', async () => {
    stack.sandbox.setRideSettings({ script: null });
    const scheduled = newRide({ scheduled_at: inMs(86_400_000) });
    const { key, end, orderId } = await requested(ways[name], { status: 'Reserved' }, scheduled);
    expect(await ways[name].status(key, orderId)).toBe('Reserved');
    await ways[name].change(key, { note_to_driver: 'blue door' });
    const past = ways[name].change(key, { scheduled_at: '2020-01-01T00:00:00Z' });
    await expect(past).rejects.toMatchObject({ code: 'Refused' });
    await expect(ways[name].change(key, {})).rejects.toMatchObject({ code: 'InvalidInput' });
    await ways[name].cancel(key);
    expect(await end).toMatchObject({ outcome: 'cancelled', trail: { outcome: 'cancelled' } });
    expect(await ways[name].status(key, orderId)).toBe('Cancelled');
    expect(ordersOf(stack, key.requestId)).toMatchObject([{ order: { note_to_driver: 'blue door' } }]);
    await expect(ways[name].cancel(key)).rejects.toMatchObject({ code: 'AlreadyEnded' });
  });

  it('a caller resolves a ride whose create had an unknown outcome', async () => {
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
    const { key, end, orderId } = await requested(ways[name], { attention: { code: 'outcomeUnknown' } });
    await expect(ways[name].cancel(key)).rejects.toMatchObject({ code: 'OutcomeUnknown' });
    await ways[name].resolve(key, { orderId });
    await ways[name].cancel(key);
    expect(await end).toMatchObject({ orderId, outcome: 'cancelled' });
  });

  it('a business call has one answer for each key, and makes no second effect', async () => {
    const before = stack.sandbox.createdOrders().length;
    const input = { account, operation: 'createOrder', key: randomUUID(), body: newRide() } as const;
    const answer = await ways[name].call(input);
    expect(answer).toMatchObject({ operation: 'createOrder', orderId: expect.any(String) });
    expect(await ways[name].call(input)).toEqual(answer);
    expect(stack.sandbox.createdOrders().length - before).toBe(1);
    const bad = { account, operation: 'orderDetails', key: randomUUID(), orderId: 'never-made' } as const;
    for (const _time of [1, 2]) await expect(ways[name].call(bad)).rejects.toMatchObject({ code: 'OrderNotFound' });
  });
});
