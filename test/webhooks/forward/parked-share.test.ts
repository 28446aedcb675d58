import { expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import type { ParkedDeliveryInput } from '../../../src/domain/parked.js';
import { createParkedShare, limitParked, TooManyParked } from '../../../src/webhooks/forward/parked-share.js';
import { aDelivery } from '../journal/folders.js';
import { aScene, recordedPort } from './port.js';

const account = toAccountName('business');

/** A Temporal that counts the parked deliveries, as far as the test lets it. */
function aTemporal(atMost: number, waiting = 0) {
  const temporal = { now: 0, waiting, counts: 0, isUp: true };
  const share = createParkedShare({
    atMost,
    now: () => temporal.now,
    port: {
      async park() {
        if (!temporal.isUp) throw new Error('down');
        temporal.waiting += 1;
      },
      async countParked() {
        temporal.counts += 1;
        if (!temporal.isUp) throw new Error('down');
        return temporal.waiting;
      },
    },
  });
  return { ...share, temporal, park: (of = account) => share.park({ account: of } as ParkedDeliveryInput) };
}

it('so many deliveries of an account are parked, those of other processes among them, and then no more until a person has placed some', async () => {
  const { park, roomToPark, temporal } = aTemporal(3, 1);
  expect(roomToPark(account)).toBe(Number.POSITIVE_INFINITY);
  await park();
  await park();
  await expect(park()).rejects.toThrow(TooManyParked);
  expect([roomToPark(account), temporal.waiting]).toEqual([0, 3]);
  temporal.waiting = 1;
  temporal.now += 10_000;
  await park();
  expect([roomToPark(account), temporal.waiting]).toEqual([1, 2]);
});

it('each account has its own share', async () => {
  const { park, temporal } = aTemporal(1);
  await park();
  temporal.waiting = 0; // the stand-in counts for all accounts
  await park(toAccountName('partner'));
  await expect(park()).rejects.toThrow(TooManyParked);
});

it('while there is no room, asking for it counts anew every ten seconds', async () => {
  const { park, roomToPark, temporal } = aTemporal(1);
  await park();
  temporal.waiting = 0;
  temporal.now += 9_999;
  for (let asked = 0; asked < 100; asked += 1) expect(roomToPark(account)).toBe(0);
  expect(temporal.counts).toBe(1);
  temporal.now += 1;
  await expect.poll(() => roomToPark(account)).toBe(1);
  expect(temporal.counts).toBe(2);
});

it('what could not be parked takes no place, and a failed count leaves the one before in force', async () => {
  const { park, roomToPark, temporal } = aTemporal(2, 1);
  await park();
  temporal.isUp = false;
  temporal.now += 10_000;
  await expect(park()).rejects.toThrow(TooManyParked);
  temporal.isUp = true;
  temporal.waiting = 0;
  temporal.now += 10_000;
  await expect.poll(() => roomToPark(account)).toBe(2);
  temporal.isUp = false;
  await expect(park()).rejects.toThrow('down');
  expect(roomToPark(account)).toBe(2);
});

it('the port is as it was where the limit is off', () => {
  const { port } = recordedPort();
  expect(limitParked(port as never, null)).toEqual({ port });
});

it('a forwarder keeps what may not be parked, forwards the rest, and parks it once there is room', async () => {
  let room = 1;
  const refuse = (call: string) => (/^parked/.test(call) && room === 0 ? new TooManyParked() : undefined);
  const scene = await aScene(['1'], { refuse, roomToPark: () => room, concurrency: 1 });
  const { journal, forwarder, recorded } = scene;
  await scene.isEmpty();
  room = 0;
  const lost = Array.from({ length: 50 }, () => aDelivery({ orderId: null, parkReason: 'noOrderId' }));
  for (const delivery of [...lost, aDelivery({ orderId: '2' })]) await journal.append(delivery);
  await expect.poll(() => forwarder.held().parked.get(account)).toBe(50);
  await expect.poll(() => recorded.calls.at(-1)).toMatch(/^order 2/);
  await expect.poll(() => journal.depth()).toBe(50);
  expect(forwarder.held().newOrders.size).toBe(0);
  const tries = recorded.calls.length;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(recorded.calls, 'not tried while there is no room').toHaveLength(tries);
  room = 60;
  await scene.isEmpty();
  expect(forwarder.held().parked.size).toBe(0);
});

it('the journal takes no delivery that cannot be parked now, and none at all when very many wait to be parked', async () => {
  const refuse = () => new TooManyParked();
  const { journal, forwarder } = await aScene([], { refuse, roomToPark: () => 0 });
  const mayCome = (more: Parameters<typeof aDelivery>[0]) => forwarder.hasRoomFor(aDelivery(more));
  const parkable = { orderId: null, parkReason: 'noOrderId' } as const;
  expect([mayCome(parkable), mayCome({ orderId: 'x1' }), mayCome({ orderId: null })]).toEqual([false, true, true]);
  // Deliveries about an order whose following was stopped are parked, too.
  await Promise.all(Array.from({ length: 10_000 }, () => journal.append(aDelivery({ orderId: 'stopped' }))));
  await expect.poll(() => forwarder.held().parked.get(account)).toBe(10_000);
  expect([mayCome({ orderId: 'x1' }), mayCome({ orderId: 'x1', eventType: 'business_report' })]).toEqual([
    false,
    false,
  ]);
});
