import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { describe, expect, it, vi } from 'vitest';
import type { OrderChange, OrderTrail } from '../../../src/domain/order/trail.js';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { startToldWorkflow } from '../../support/notify/receiver.js';
import { type FollowHandle, isQuiet, shows, trailOf, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { rideUnderWay, stands } from '../../support/ride/rides.js';
import { attributeOf, detailsOf, eventsOf, isWatched } from '../../support/runs.js';

const stuckAfterMs = 3_000;
/** Thresholds that a test can wait for. */
const watch = {
  stuckAfterMs: { Pending: null, Routing: stuckAfterMs, Confirmed: stuckAfterMs, Waiting: null },
  latePickupAfterMs: 1_000,
};
const stack = useOrderStack({ watch, env: { FARETRAIL_POLL_PUSHED_MS: '400' } });

const showsCode = (handle: FollowHandle, code: string | null) =>
  shows(handle, { attention: code === null ? null : expect.objectContaining({ code }) });

type Followed = { orderId: string; handle: FollowHandle };

/** Follows an order with this status, and has another workflow told of it. */
async function followed(status: string) {
  const told = await startToldWorkflow(stack);
  const orderId = stack.newOrder('business', [[status, 0]]);
  const handle = await stack.follow('business', orderId, { notify: [told.receiver] });
  await shows(handle, { status });
  /** Status and attention of each notice. */
  const course = async () =>
    (await told.told()).map(({ status: word, attention }: OrderChange) => [word, attention?.code ?? null]);
  return { orderId, handle, course };
}

const change = ({ orderId }: Followed, status: string) => stack.sandbox.setStatus('business', orderId, status);

/** The events of a run that is quiet, but for those of workflow tasks, which a busy server may repeat. */
async function eventsOfQuiet(order: Followed, reads: number): Promise<number> {
  await isQuiet(stack, order, reads);
  const { EventType } = temporal.api.enums.v1;
  const types = (await eventsOf(order.handle)).map(({ eventType }) => EventType[eventType ?? 0] ?? '');
  return types.filter((type) => !type.includes('WORKFLOW_TASK')).length;
}

/** The events that the run adds until it shows this and is quiet again. */
async function costOf(order: Followed, before: number, act: () => void, about: Partial<OrderTrail>): Promise<number> {
  act();
  await shows(order.handle, about);
  return (await eventsOfQuiet(order, 3)) - before;
}

/** An order that tells no one, so that each record costs the same. */
async function quietOrder(status: string): Promise<Followed & { events: number }> {
  const orderId = stack.newOrder('partner', [[status, 0]], { scheduled_at: null });
  const handle = await stack.follow('partner', orderId);
  await shows(handle, { status });
  await expect.poll(() => isWatched(handle)).toBe(true);
  return { orderId, handle, events: await eventsOfQuiet({ orderId, handle }, 2) };
}

const partnerStatus = (orderId: string, status: string) => () => stack.sandbox.setStatus('partner', orderId, status);
const attention = (code: string) => expect.objectContaining({ code });

describe.concurrent('attention about the ride', () => {
  it('costs the events of one record when an order is stuck, none while it lasts, and none to clear it', async () => {
    const order = await quietOrder('Pending');
    const { handle, orderId, events } = order;
    const change = await costOf(order, events, partnerStatus(orderId, 'Waiting'), { status: 'Waiting' });
    const stuck = { status: 'Routing', attention: attention('stuckInStatus') };
    expect(await costOf(order, events + change, partnerStatus(orderId, 'Routing'), stuck)).toBe(2 * change);
    expect(await attributeOf(handle, 'RideAttention')).toBe('stuckInStatus');
    expect(await detailsOf(handle)).toMatch(/Attention: stuckInStatus.*The order has been Routing since/s);
    const before = events + 3 * change;
    expect(await eventsOfQuiet(order, 10)).toBe(before);
    const cleared = { status: 'Waiting', attention: null };
    expect(await costOf(order, before, partnerStatus(orderId, 'Waiting'), cleared)).toBe(change);
    expect(await attributeOf(handle, 'RideAttention')).toBeNull();
  });

  it('says that the pick-up is late, until the service moves it', async () => {
    const at = (ms: number) => new Date(Date.now() + ms);
    const orderId = randomUUID();
    // Asked for an hour before, so it is no order on demand.
    const pickup = at(1_000);
    const details = { requested_at: at(-3_600_000), scheduled_at: pickup };
    const script = [{ status: 'Reserved', afterMs: 0 }];
    stack.sandbox.addOrder({ interface: 'business', orderId, script, details });
    const handle = await stack.follow('business', orderId);
    await showsCode(handle, 'latePickup');
    pickup.setHours(pickup.getHours() + 1);
    await shows(handle, { status: 'Reserved', attention: null });
    await isQuiet(stack, { handle, orderId }, 5);
  });

  it('is told once when it comes and once when it goes, whatever reads deliveries lead to', async () => {
    const order = await followed('Routing');
    await showsCode(order.handle, 'stuckInStatus');
    const { attention: shown } = await trailOf(order.handle);
    for (let times = 0; times < 3; times += 1) {
      await deliver(order.handle, newDelivery());
      expect(await order.handle.executeUpdate('refreshOrder')).toMatchObject({ attention: shown });
    }
    await isQuiet(stack, order, 3);
    const come = [
      ['Routing', null],
      ['Routing', 'stuckInStatus'],
    ];
    await vi.waitFor(async () => expect(await order.course()).toEqual(come), patient);
    change(order, 'Waiting');
    await showsCode(order.handle, null);
    await vi.waitFor(async () => expect((await order.course()).slice(2)).toEqual([['Waiting', null]]), patient);
  });

  it('of its order is what a ride shows, too, beside its own attention', async () => {
    const { handle } = await rideUnderWay(stack, {}, { script: [{ status: 'Routing', afterMs: 0 }] });
    const orderAttention = expect.objectContaining({ code: 'stuckInStatus' });
    await stands(handle, { attention: null, orderAttention });
    expect(await detailsOf(handle)).toContain('Attention: stuckInStatus');
    expect(await attributeOf(handle, 'RideAttention')).toBeNull(); // the order is listed already
    const { orderId } = await handle.query<{ orderId: string }>('rideStatus');
    stack.sandbox.setStatus('business', orderId, 'Completed');
    expect(await handle.result()).toMatchObject({ outcome: 'completed' });
    expect(await handle.query('rideStatus')).toMatchObject({ orderAttention: null });
  });
});
