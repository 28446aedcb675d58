import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Notify } from '../../../src/domain/notify/receivers.js';
import type { RequestRideInput } from '../../../src/domain/ride/input.js';
import type { RideNotice } from '../../../src/domain/ride/ride.js';
import type { RequestRideProgress } from '../../../src/workflows/ride/request-ride.js';
import { newRide, stop } from '../../dev/sandbox/booking-calls.js';
import { numberOf, useNotifyReceiver } from '../../support/notify/receiver.js';
import { useOrderStack } from '../../support/order/stack.js';
import {
  account,
  completes,
  doubtfulRide,
  failureOf,
  goesOn,
  requestedRide,
  rideUnderWay,
  shortLimits,
  standingOf,
  stands,
} from '../../support/ride/rides.js';
import { continued } from '../../support/runs.js';

const receiver = useNotifyReceiver();
const stack = useOrderStack(() => ({ env: receiver.env }));
beforeAll(() => stack.sandbox.setRideSettings({ script: goesOn }));

interface Told {
  id: string;
  event: { type: string; timestamp: string; data: RideNotice };
}

/** A path of the receiver. `told`: what it has taken about the ride itself; `known`: the same in brief. */
function newUrl() {
  const path = `/${randomUUID()}`;
  const taken = () => receiver.received.filter((one) => one.path === path && one.status < 300);
  const told = () => taken().filter(({ event }) => event.type === 'ride.changed') as unknown as Told[];
  const known = () =>
    told().map(({ event: { data } }) => {
      const { stage, orderId, outcome, attention, failure } = data;
      return { stage, orderId, outcome, attention: attention?.code ?? null, failure: failure?.type ?? null };
    });
  const ofOrder = () => taken().filter(({ event }) => event.type.startsWith('order.'));
  return { path, notify: [{ url: `${receiver.origin}${path}` }] as Notify[], told, known, ofOrder };
}

const calm = { orderId: null, outcome: null, attention: null, failure: null };
const named = (orderId: string | null) => ({ ...calm, stage: 'requesting', orderId });
const ended = { ...calm, stage: 'ended' };

const ride = async (more: Partial<RequestRideInput> = {}, progress?: RequestRideProgress) => {
  const url = newUrl();
  return { ...url, ...(await requestedRide(stack, { notify: url.notify, ...more }, progress)) };
};
const rideOnItsWay = async (limits?: Partial<RequestRideProgress['limits']>) => {
  const url = newUrl();
  return { ...url, ...(await rideUnderWay(stack, { notify: url.notify }, limits)) };
};

async function unknown() {
  const url = newUrl();
  return { ...url, ...(await doubtfulRide(stack, { notify: url.notify })) };
}
const badUser = { name: 'Pat Example', phone: '+1 555 0100200' };
const asksAPerson = { ...calm, stage: 'requesting', attention: 'outcomeUnknown' };

describe('a URL of a ride is told', () => {
  it('its order and its end, and nothing for the changes between; the order has its own notices, under other ids', async () => {
    stack.sandbox.setRideSettings({ script: completes });
    onTestFinished(() => void stack.sandbox.setRideSettings({ script: goesOn }));
    const { handle, requestId, told, known, ofOrder } = await ride();
    const { orderId } = await handle.result();
    await expect.poll(known).toEqual([named(orderId), { ...ended, orderId, outcome: 'completed' }]);
    const data = { account, requestId, orderId, stage: 'ended', outcome: 'completed', attention: null, failure: null };
    const end = told().at(-1);
    expect(end?.event).toEqual({ type: 'ride.changed', timestamp: expect.any(String), data });
    expect(told().map(numberOf)).toEqual([1, 2].map((n) => `msg_${handle.firstExecutionRunId}_${n}`));
    await expect.poll(() => ofOrder().at(-1)?.event.type).toBe('order.ended');
    const ids = [...told(), ...ofOrder()].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('that a person must find out whether there is an order, and which order that person named', async () => {
    const { handle, told, known, orderId, resolve, cancelled } = await unknown();
    await expect.poll(known).toEqual([asksAPerson]);
    const { attention } = await standingOf(handle);
    expect(told()[0]?.event.data.attention).toEqual(attention);
    await resolve({ orderId });
    await expect.poll(known).toEqual([asksAPerson, named(orderId)]);
    await cancelled();
    const end = { ...ended, orderId, outcome: 'cancelled' };
    await expect.poll(known).toEqual([asksAPerson, named(orderId), end]);
  });

  it('that a person gave the ride up, without the words of that person', async () => {
    const { handle, told, known, resolve } = await unknown();
    await resolve({ giveUp: true, reason: 'Frau Ada Lovelace took the train' });
    const { type, message } = await failureOf(handle.result());
    expect(message).toContain('Ada');
    await expect.poll(known).toEqual([asksAPerson, { ...ended, failure: type }]);
    expect(told().at(-1)?.event.data.failure).toEqual({ type, message: 'Given up by a person.' });
  });

  it.each([
    ['for a product that the service does not know', { product_id: randomUUID() }],
    ['for a phone number that cannot be sent', { stops: [stop('origin', 'pick_up', undefined, { user: badUser })] }],
  ])('that the create was refused %s, as the caller of the run is', async (_, order) => {
    const { handle, told, known } = await ride({ order: newRide(order) });
    const { type, message } = await failureOf(handle.result());
    await expect.poll(known).toEqual([{ ...ended, failure: type }]);
    expect(told()[0]?.event.data.failure).toEqual({ type, message });
    expect(JSON.stringify(told())).not.toMatch(/Pat|0100200|Street/);
  });

  it('that the ride was withdrawn before it was ordered', async () => {
    await stack.stopWorker();
    const { handle, known } = await ride();
    const cancelling = handle.executeUpdate('cancelRide');
    await stack.startWorker();
    await cancelling;
    await expect.poll(known).toEqual([{ ...ended, outcome: 'withdrawn' }]);
  });

  it('that the run was cancelled, though the order goes on', async () => {
    const { handle, known, told } = await rideOnItsWay();
    const { orderId } = await standingOf(handle);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    await expect.poll(known).toEqual([named(orderId), { ...ended, orderId, failure: 'Cancelled' }]);
    expect(told().at(-1)?.event.data.failure?.message).toContain('goes on');
    await stack.client.workflow.getHandle(`order/business/${orderId}`).terminate();
  });
});

const refusedUpdate = (handle: Awaited<ReturnType<typeof ride>>['handle']) =>
  failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] }));

it('a ride that continues as new tells nothing twice, and forgets nothing that a silent URL has to be told', async () => {
  const silent = newUrl();
  receiver.answer(silent.path, 503);
  const { notify, ...url } = newUrl();
  const limits = { ...shortLimits, maxEvents: 40 };
  const { handle } = await requestedRide(stack, { notify: [...silent.notify, ...notify] }, { limits });
  await stands(handle, { stage: 'following', status: 'Routing' });
  const { orderId } = await standingOf(handle);
  for (let asked = 0; asked < 4; asked += 1) await refusedUpdate(handle);
  await continued(handle);
  await stands(handle, { stage: 'following' });
  await handle.executeUpdate('cancelRide');
  await handle.result();
  expect(silent.known(), 'a silent URL delays no result').toEqual([]);
  receiver.answer(silent.path, 204);
  const all = [named(orderId), { ...ended, orderId, outcome: 'cancelled' }];
  await expect.poll(url.known).toEqual(all);
  await expect.poll(silent.known).toEqual(all);
  for (const { told } of [url, silent])
    expect(told().map(numberOf)).toEqual([1, 2].map((n) => `msg_${handle.firstExecutionRunId}_${n}`));
});
