import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { toEstimateBody } from '../../../src/domain/ride/quote.js';
import { newRide, stop } from '../../dev/sandbox/booking-calls.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { createsOf, failureOf, goesOn, ordersOf, requestedRide, standingOf, stands } from '../../support/ride/rides.js';

const stack = useOrderStack();
beforeAll(() => stack.sandbox.setRideSettings({ script: goesOn, quoteRequired: true }));

const order = newRide({
  stops: [stop('origin', 'pick_up'), stop('destination', 'drop_off', { lat: 52.6, lng: 13.5 })],
});
const priced = { price: '48.00', currency: 'GBP' };
const estimates = () => stack.sandbox.ledger({ operation: 'priceEstimate' }).length;

/** A ride with a quote, and how many estimates and creates the service has got for it. */
async function quotedRide(more: object = {}) {
  const before = estimates();
  const ride = await requestedRide(stack, { order, quote: true, ...more });
  const counts = () => [estimates() - before, createsOf(stack, ride.requestId).length];
  const made = () => ordersOf(stack, ride.requestId).length;
  const resolve = (how: object) => ride.handle.executeUpdate('resolveRide', { args: [how as never] });
  onTestFinished(() => stack.sandbox.clearFaults());
  return { ...ride, counts, made, resolve };
}

const fault = (operation: 'priceEstimate' | 'createOrder', how: object) =>
  stack.sandbox.setFault({ times: 1, ...how, operation } as never);

describe('a ride with a quote', () => {
  it('is one estimate and one create; price and currency stand in its status', async () => {
    const { handle, counts } = await quotedRide();
    await stands(handle, { stage: 'following', ...priced });
    expect(counts()).toEqual([1, 1]);
    await handle.executeUpdate('cancelRide');
    await handle.result();
  });

  it('waits while the service gives no estimate', async () => {
    fault('priceEstimate', { kind: 'unavailable', times: 2 });
    const { handle, counts } = await quotedRide();
    await stands(handle, { stage: 'following', ...priced });
    expect(counts()).toEqual([3, 1]);
  });

  it('is refused with the estimate, without a create and without doubt', async () => {
    const polar = newRide({ stops: [stop('origin', 'pick_up', { lat: 80, lng: 1 }), stop('destination', 'drop_off')] });
    const { handle, counts } = await quotedRide({ order: polar });
    const failure = await failureOf(handle.result());
    expect(failure).toMatchObject({ type: 'Refused', message: expect.stringContaining('area_not_served') });
    expect(counts()).toEqual([1, 0]);
  });

  it('names the field that the estimate lacks, before anything is sent', async () => {
    const { handle, counts } = await quotedRide({ order: newRide({ stops: [stop('origin', 'pick_up')] }) });
    expect(await failureOf(handle.result())).toMatchObject({ type: 'InvalidInput', message: /order\.stops/ });
    expect(counts()).toEqual([0, 0]);
  });

  it('in doubt keeps its price, asks for no quote by itself, and for a new one when a person tries again', async () => {
    fault('createOrder', { kind: 'dropConnection', when: 'request' });
    const { handle, counts, made, resolve } = await quotedRide();
    await stands(handle, { attention: { code: 'outcomeUnknown' }, ...priced });
    expect(counts()[0]).toBe(1);
    await resolve({ tryAgain: true });
    await stands(handle, { stage: 'following', ...priced });
    expect([counts()[0], made()]).toEqual([2, 1]);
  });

  it('is settled by the order that the lost answer made, without another estimate', async () => {
    fault('createOrder', { kind: 'dropConnection', when: 'answer' });
    const { handle, counts, made, resolve, requestId } = await quotedRide();
    await stands(handle, { attention: { code: 'outcomeUnknown' } });
    await resolve({ orderId: ordersOf(stack, requestId)[0]?.orderId });
    await stands(handle, { stage: 'following' });
    expect([counts()[0], made()]).toEqual([1, 1]);
  });

  it('gets another quote where the first died on its way, and gives up after the second', async () => {
    stack.sandbox.setRideSettings({ quoteLivesMs: 0 });
    const { handle, counts } = await quotedRide();
    const failure = await failureOf(handle.result());
    stack.sandbox.setRideSettings({ quoteLivesMs: 120_000 });
    expect(failure).toMatchObject({ type: 'Refused', message: expect.stringMatching(/quote_expired/) });
    expect(counts()).toEqual([2, 2]);
  });

  it('in doubt for a killed worker between estimate and create has one create, once a person tries again', async () => {
    fault('priceEstimate', { kind: 'slow', delayMs: 3_000 });
    const { handle, counts, made, resolve } = await quotedRide();
    await vi.waitFor(() => expect(counts()[0]).toBe(1), patient);
    await stack.stopWorker();
    await stack.startWorker();
    await vi.waitFor(async () => {
      const { stage, attention } = await standingOf(handle);
      expect(stage === 'following' || attention?.code === 'outcomeUnknown').toBe(true);
    }, patient);
    if ((await standingOf(handle)).stage !== 'following') await resolve({ tryAgain: true });
    await stands(handle, { stage: 'following' });
    expect([counts()[1], made()]).toEqual([1, 1]);
  });
});

it('a quote belongs to the trip of its order', () => {
  expect(toEstimateBody(order)).toMatchObject({
    origin: { lat: 52.5, lng: 13.4 },
    destination: { lat: 52.6, lng: 13.5 },
  });
});
