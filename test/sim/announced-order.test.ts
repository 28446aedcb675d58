import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { fourHourRide } from '../../dev/bench/rides.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import type { Delivery } from '../../src/domain/delivery.js';
import { iso } from '../../src/domain/instant.js';
import { type OrderId, toOrderId } from '../../src/domain/keys.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import type { Arrival } from '../../src/webhooks/addresses.js';
import { createBodyReader } from '../../src/webhooks/body-reader.js';
import published from '../fixtures/deliveries.published.json' with { type: 'json' };
import { startSimulatedStack } from '../support/sim/stack.js';

// Counts the requests for an order of four hours with eight statuses. Tokens are not counted, as they belong to the
// account. An order alone reads no receipt.

const minute = 60_000;
const orderId = toOrderId('71000123');
const readBody = createBodyReader(defaultContractProfile);

/** A published delivery about this status, as the ingress reads it. */
function announcement(arrival: Arrival, about: OrderId, status: string): Delivery {
  const message = JSON.stringify({ ...JSON.parse(published.statusChanged.message), order_id: Number(about), status });
  const timestamp = iso(arrival.arrivedAt);
  const body = { ...published.statusChanged, id: randomUUID(), message, timestamp };
  const rawBody = Buffer.from(JSON.stringify(body));
  return readBody(arrival, { headers: {}, rawBody, unpacked: rawBody, body, isClear: true }).delivery;
}

it.each([
  // 240 minutes at 5.25 minutes (5, and half of the jitter), and a read for each status.
  { begun: 'its first delivery', isAnnounced: true, least: 50, most: 56 },
  // The first change, after five minutes, is the first sign that deliveries announce this order.
  { begun: 'a caller', isAnnounced: false, least: 76, most: 86 },
])(
  'an order of four hours whose statuses published deliveries announce, begun by $begun, costs $least to $most requests',
  async ({ isAnnounced, least, most }) => {
    const stack = startSimulatedStack();
    const { account, world } = stack;
    const { scheduler, ingress } = world;
    const began = scheduler.now;
    stack.plays(orderId, fourHourRide);
    const key = { account, orderId };
    if (!isAnnounced) await stack.start('followOrder', followOrderId(key), [key]);
    for (const [status, fromMs] of fourHourRide.slice(isAnnounced ? 0 : 1))
      scheduler.after(began + fromMs - scheduler.now, () => {
        const arrival = { account, eventType: 'status_changed', arrivedAt: scheduler.now, generation: 'g1' } as const;
        ingress.receive(announcement(arrival, orderId, status));
      });
    await stack.sleep(minute);
    const trail = await stack.runOf(followOrderId(key)).result<OrderTrail>();
    expect(trail).toMatchObject({ outcome: 'completed', pushed: true, deliveries: { duplicate: 0 } });
    expect(trail.timeline.map(({ status }) => status)).toEqual(fourHourRide.map(([status]) => status));
    const named = trail.timeline.slice(isAnnounced ? 0 : 1);
    for (const { at, eventTime = '' } of named) expect(Date.parse(at) - Date.parse(eventTime)).toBeLessThan(minute);
    const requests = stack.calls();
    expect(requests.length).toBeGreaterThanOrEqual(least);
    expect(requests.length).toBeLessThanOrEqual(most);
    expect(trail.reads - fourHourRide.length).toBeOneOf([0, 1]); // the first attempt may have to wait for the token
  },
);
