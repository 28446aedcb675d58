import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFaretrailClient, type FaretrailClient } from '../../src/client/index.js';
import { newRide } from '../sandbox/booking-calls.js';
import { withoutRequestIds } from '../support/accounts.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { completes, goesOn } from '../support/ride/rides.js';

let stack: OrderStack;
let rides: FaretrailClient;
beforeAll(async () => {
  stack = await startOrderStack({ env: withoutRequestIds() });
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});
beforeEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setBookingSettings({ script: goesOn, receiptAfterMs: 0, receiptChangesAfterMs: null });
});
afterAll(() => stack.close());

const account = 'business';
const key = () => randomUUID();
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();
const created = () => stack.sandbox.createdOrders().length;

describe('rides with the typed client', () => {
  it('are requested once however often, and followed to their end', async () => {
    stack.sandbox.setBookingSettings({ script: completes });
    const before = created();
    const input = { account, requestId: key(), order: newRide() };
    const ride = await rides.request(input);
    const again = await rides.request(input);
    const end = await ride.result();
    expect(end).toMatchObject({ requestId: input.requestId, outcome: 'completed', receipt: null });
    expect(await again.result()).toEqual(end);
    expect(await (await rides.request(input)).result()).toEqual(end);
    expect(await rides.get(account, end.orderId ?? '').trail()).toEqual(end.trail);
    expect(created() - before).toBe(1);
  });

  it('are changed and cancelled, and what the service refuses has its code', async () => {
    stack.sandbox.setBookingSettings({ script: null });
    const ride = await rides.request({ account, requestId: key(), order: newRide({ scheduled_at: tomorrow() }) });
    await expect.poll(() => ride.status()).toMatchObject({ stage: 'following', status: 'Reserved' });
    expect(await ride.change({ note_to_driver: 'blue door' })).toMatchObject({ stage: 'following' });
    await expect(ride.change({ scheduled_at: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      name: 'FaretrailClientError',
      code: 'Refused',
      details: [{ status: 422 }],
    });
    await expect(ride.change({})).rejects.toMatchObject({ code: 'InvalidInput' });
    await ride.cancel();
    expect(await ride.result()).toMatchObject({ outcome: 'cancelled', trail: { outcome: 'cancelled' } });
    await expect(ride.cancel()).rejects.toMatchObject({ code: 'AlreadyEnded' });
    expect(await rides.getRide(account, ride.requestId).status()).toMatchObject({ stage: 'ended' });
  });

  it('whose create had an unknown outcome are resolved', async () => {
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
    const ride = await rides.request({ account, requestId: key(), order: newRide() });
    await expect.poll(() => ride.status()).toMatchObject({ attention: { code: 'outcomeUnknown' } });
    await expect(ride.resolve({ tryAgain: false } as never)).rejects.toMatchObject({ code: 'InvalidInput' });
    await ride.resolve({ giveUp: true, reason: 'looked, there is no order' });
    await expect(ride.result()).rejects.toMatchObject({ code: 'OutcomeUnknown' });
  });
});

describe('calls with the typed client', () => {
  it('give the answer, the same again for the same key, and make no second effect', async () => {
    const before = created();
    const input = { account, operation: 'createOrder', key: key(), body: newRide() } as const;
    const answer = await rides.call(input);
    expect(answer).toMatchObject({ operation: 'createOrder', orderId: expect.any(String) });
    expect(await rides.call(input)).toEqual(answer);
    expect(created() - before).toBe(1);
  });

  it.each([
    ['InvalidInput', { operation: 'orderDetails' }],
    ['InvalidInput', { operation: 'orderDetails', orderId: 'x', also: 1 }],
    ['InvalidInput', { operation: 'createOrder', body: newRide({ stops: [] }) }],
    ['OrderNotFound', { operation: 'orderDetails', orderId: 'nobody-made-it' }],
  ])('fail with %s: %j', async (code, more) => {
    await expect(rides.call({ account, key: key(), ...more } as never)).rejects.toMatchObject({ code });
  });
});
