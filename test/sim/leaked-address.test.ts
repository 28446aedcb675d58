import { expect, it } from 'vitest';
import { withBudget, workerConfig } from '../../dev/sim/world/settings.js';
import type { Delivery } from '../../src/domain/delivery.js';
import { type DeliveryId, toOrderId } from '../../src/domain/keys.js';
import { type SimulatedStack, startSimulatedStack } from '../support/sim/stack.js';

// Somebody knows an address of an account and invents orders, beside 200 followed ones. The budget of the account, 16 requests a second, is
// less than what they ask for, so each read of an invented order costs one of a real order.

const second = 1_000;
const orders = 200;
const floodMs = 120 * second;

const config = withBudget(workerConfig({ FARETRAIL_POLL_ACTIVE_MS: '1000' }), 16);

let invented = 0;

/** A delivery about an order that the service does not know. */
function aForgedOne({ account, world }: SimulatedStack): Delivery {
  invented += 1;
  return {
    ...{ account, eventType: 'status_changed', orderId: toOrderId(`invented-${invented}`), status: 'Driving' },
    deliveryId: invented.toString(16).padStart(32, '0') as DeliveryId,
    receivedAt: new Date(world.scheduler.now).toISOString(),
  };
}

const isOf = (order: string) => (url: string) => url.includes(`/${order}`);

/** How old the oldest read of a followed order became in this time, and how many reads of all orders there were a second. */
function readsBetween({ calls }: SimulatedStack, from: number, to: number) {
  let oldestMs = 0;
  for (let n = 1; n <= orders; n += 1) {
    const reads = calls((url) => new RegExp(`/o${n}\\b`).test(url)).filter((at) => at <= to);
    const inside = reads.filter((at) => at > from);
    const before = reads.findLast((at) => at <= from) ?? from;
    for (const [index, at] of [...inside, to].entries())
      oldestMs = Math.max(oldestMs, at - (inside[index - 1] ?? before));
  }
  const inTime = (all: number[]) => all.filter((at) => at > from && at <= to).length / ((to - from) / second);
  return { oldestMs, perSecond: inTime(calls(isOf('o'))), inventedPerSecond: inTime(calls(isOf('invented-'))) };
}

it('invented orders take at most a tenth of the requests, and the oldest read of a followed order is hardly older', async () => {
  const stack = startSimulatedStack({ config });
  const { scheduler, ingress } = stack.world;
  for (let n = 0; n < orders; n += 1) await stack.follow([['Driving', 0]]);
  await stack.sleep(60 * second);
  const calmFrom = scheduler.now;
  await stack.sleep(floodMs);
  const floodFrom = scheduler.now;
  for (let ms = 0; ms < floodMs; ms += 20) scheduler.after(ms, () => ingress.receive(aForgedOne(stack)));
  await stack.sleep(floodMs);
  const calm = readsBetween(stack, calmFrom, floodFrom);
  const flood = readsBetween(stack, floodFrom, scheduler.now);
  expect(flood.inventedPerSecond).toBeGreaterThan(0.2);
  expect(flood.inventedPerSecond).toBeLessThanOrEqual(0.1 * 16);
  expect(flood.oldestMs / calm.oldestMs).toBeLessThanOrEqual(1.3);
});
