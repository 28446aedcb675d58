import { expect, it } from 'vitest';
import { takingRunId } from '../../../src/domain/delivery.js';
import { toAccountName } from '../../../src/domain/keys.js';
import type { ParkedDeliveryInput } from '../../../src/domain/parked.js';
import { createStarts, ShareUsedUp } from '../../../src/webhooks/forward/routing.js';
import { JournalError } from '../../../src/webhooks/journal/folder.js';
import { aDelivery } from '../journal/folders.js';
import { aScene, unavailable } from './port.js';

const account = toAccountName('business');
const partner = toAccountName('partner');
const order = (id: string, of = account) => aDelivery({ account: of, orderId: id });
const report = (id: string) => aDelivery({ orderId: id, eventType: 'business_report' });

/** A Temporal with the runs that the test and the deliveries start, and with so many parked deliveries. */
function aTemporal(options: TemporalOptions) {
  const { newOrdersAtOnce = null, parkedAtMost = null, hasProofs = false, parked = 0 } = options;
  const temporal = {
    ...{ now: 0, isUp: true, asked: 0, counts: 0, parked },
    runs: new Set<string>(),
    settled: new Set<string>(),
    ended: new Set<string>(),
    known: new Set<string>(),
    starting: Promise.resolve(),
  };
  async function start<Answer>(id: string, answer: Answer): Promise<Answer> {
    await temporal.starting;
    temporal.runs.add(id);
    if (!temporal.isUp) throw new Error('lost');
    return answer;
  }
  const starts = createStarts({
    ...{ newOrdersAtOnce, parkedAtMost, hasProofs, monotonic: () => temporal.now },
    port: {
      signal: async (id) => temporal.runs.has(id),
      isKnown: async ({ orderId }) => temporal.known.has(orderId),
      async toRun(about) {
        if (temporal.ended.has(about.orderId ?? '')) return 'late';
        return await start(takingRunId(about), about.eventType === 'business_report' ? 'reported' : 'started');
      },
      async isSettled(id) {
        temporal.asked += 1;
        if (!temporal.isUp) throw new Error('down');
        return temporal.settled.has(id) || !temporal.runs.has(id);
      },
      async park() {
        if (!temporal.isUp) throw new Error('down');
        temporal.parked += 1;
      },
      async countParked() {
        temporal.counts += 1;
        if (!temporal.isUp) throw new Error('down');
        return temporal.parked;
      },
    },
  });
  const codes = (sent: Promise<unknown>[]) => Promise.all(sent.map((one) => one.catch((error) => error.code)));
  return {
    ...starts,
    temporal,
    send: (id: string, of = account) => starts.toRun(order(id, of), []),
    sendTogether: (ids: readonly string[]) => codes(ids.map((id) => starts.toRun(order(id), []))),
    sendReport: (id: string) => starts.toRun(report(id), []),
    park: (of = account, isProven = false) => starts.park({ account: of } as ParkedDeliveryInput, isProven),
    /** All that runs has read, a second later. */
    settleAll() {
      temporal.now += 1_000;
      for (const id of temporal.runs) temporal.settled.add(id);
    },
  };
}

interface TemporalOptions {
  newOrdersAtOnce?: number | null;
  parkedAtMost?: number | null;
  hasProofs?: boolean;
  parked?: number;
}

it('so many orders start at once, another waits until a read has found one of them, and a run always gets its delivery', async () => {
  const { send, room, temporal } = aTemporal({ newOrdersAtOnce: 2 });
  expect([await send('1'), await send('2'), room('newOrders', account)]).toEqual(['started', 'started', 0]);
  temporal.now += 1_000;
  await expect(send('3')).rejects.toMatchObject({ code: 'ShareUsedUp', reason: 'newOrders' });
  temporal.runs.add(takingRunId(order('called')));
  expect([await send('1'), await send('called')]).toEqual(['signalled', 'signalled']);
  expect(await send('9', partner), 'each account has its own share').toBe('started');
  temporal.settled.add(takingRunId(order('2')));
  temporal.now += 1_000;
  expect(await send('3')).toBe('started');
});

it('reports take the places of orders, but not one whose run is open or whose order was followed', async () => {
  const { send, sendReport, settleAll, temporal } = aTemporal({ newOrdersAtOnce: 2 });
  expect([await sendReport('1'), await send('2')]).toEqual(['reported', 'started']);
  await expect(sendReport('3')).rejects.toThrow(ShareUsedUp);
  temporal.known.add('followed');
  expect([await sendReport('1'), await sendReport('followed')]).toEqual(['reported', 'reported']);
  settleAll();
  expect(await sendReport('3')).toBe('reported');
});

it('however many come together, and however long their starts take, no more start than may', async () => {
  const { sendTogether, settleAll, temporal } = aTemporal({ newOrdersAtOnce: 2 });
  const started = (answers: unknown[]) => answers.filter((answer) => answer === 'started').length;
  expect(started(await sendTogether(['1', '2', '3', '4', '5']))).toBe(2);
  settleAll();
  expect(started(await sendTogether(['6', '7', '8', '9'])), 'all had waited for the same room').toBe(2);
  settleAll();
  let letStart = (): void => undefined;
  temporal.starting = new Promise((resolve) => (letStart = resolve));
  const slow = sendTogether(['a', 'b']);
  await new Promise(setImmediate);
  temporal.now += 1_000;
  expect(started(await sendTogether(['c', 'd'])), 'a run that is starting is not one that has ended').toBe(0);
  letStart();
  expect(started(await slow)).toBe(2);
});

it('an order whose run has ended makes room, and so does one that needed no run', async () => {
  const { send, room, temporal } = aTemporal({ newOrdersAtOnce: 1 });
  temporal.ended.add('old');
  expect([await send('old'), room('newOrders', account)]).toEqual(['late', 1]);
  await send('1');
  temporal.runs.clear();
  temporal.now += 1_000;
  expect(await send('2')).toBe('started');
});

it('a start whose answer was lost keeps one place, however often it is tried', async () => {
  const { send, room, temporal, settleAll } = aTemporal({ newOrdersAtOnce: 3 });
  temporal.isUp = false;
  for (let tries = 0; tries < 2; tries += 1) {
    await expect(send('1')).rejects.toThrow('lost');
    temporal.runs.clear(); // it has not started
  }
  expect(room('newOrders', account)).toBe(2);
  temporal.isUp = true;
  expect([await send('1'), await send('2'), await send('3')]).toEqual(['started', 'started', 'started']);
  settleAll();
  expect(await send('4')).toBe('started');
  expect(room('newOrders', account)).toBe(2);
});

it('runs are asked once a second, however many deliveries wait', async () => {
  const { send, sendTogether, temporal } = aTemporal({ newOrdersAtOnce: 3 });
  for (const id of ['1', '2', '3']) await send(id);
  for (let second = 0; second < 5; second += 1, temporal.now += 1_000) {
    const answers = await sendTogether(Array.from({ length: 50 }, (_, n) => `x${n}`));
    expect(new Set(answers)).toEqual(new Set(['ShareUsedUp']));
  }
  expect(temporal.asked).toBeLessThanOrEqual(15);
});

it('so many deliveries of an account are parked, those that waited before among them, and then no more until a person has placed some', async () => {
  const { park, room, temporal } = aTemporal({ parkedAtMost: 3, parked: 1 });
  expect(room('parked', account)).toBe(3);
  await park();
  await park();
  await expect(park()).rejects.toMatchObject({ code: 'ShareUsedUp', reason: 'parked' });
  await expect(park(partner), 'the stand-in counts for all accounts').rejects.toThrow(ShareUsedUp);
  temporal.parked = 1;
  temporal.now += 9_999;
  for (let asked = 0; asked < 100; asked += 1) expect(room('parked', account)).toBe(0);
  temporal.now += 1;
  await expect.poll(() => room('parked', account)).toBe(2);
  await park();
  expect([room('parked', account), temporal.parked]).toEqual([1, 2]);
});

it('where deliveries can prove themselves, others are parked in half of the places', async () => {
  const { park, room, temporal } = aTemporal({ parkedAtMost: 5, hasProofs: true });
  const rooms = () => [room('parked', account), room('parked', account, true)];
  expect(rooms()).toEqual([3, 5]);
  for (let parked = 0; parked < 3; parked += 1) await park();
  await expect(park()).rejects.toMatchObject({ code: 'ShareUsedUp', reason: 'parked' });
  expect(rooms()).toEqual([0, 2]);
  await park(account, true);
  await park(account, true);
  await expect(park(account, true)).rejects.toThrow(ShareUsedUp);
  expect(temporal.parked).toBe(5);
});

it('what could not be parked takes no place, and a failed count changes nothing', async () => {
  const { park, room, temporal } = aTemporal({ parkedAtMost: 2, parked: 1 });
  await park();
  temporal.isUp = false;
  temporal.now += 10_000;
  await expect(park()).rejects.toThrow(ShareUsedUp);
  temporal.isUp = true;
  temporal.parked = 0;
  temporal.now += 10_000;
  await expect.poll(() => room('parked', account)).toBe(2);
  temporal.isUp = false;
  await expect(park()).rejects.toThrow('down');
  expect(room('parked', account)).toBe(2);
});

it('where the limits are off any number starts and is parked, and nothing is asked or counted', async () => {
  const { park, sendTogether, temporal } = aTemporal({});
  const answers = await sendTogether(Array.from({ length: 50 }, (_, n) => `x${n}`));
  expect(new Set(answers)).toEqual(new Set(['started']));
  await park();
  expect([temporal.asked, temporal.counts]).toEqual([0, 0]);
});

it('a forwarder keeps deliveries about orders that may not start, forwards the others, and starts the newest when there is room', async () => {
  const refuse = (call: string) => (/^order x/.test(call) && room === 0 ? new ShareUsedUp('newOrders') : undefined);
  let room = 0;
  const orders = Array.from({ length: 200 }, (_, n) => `x${n}`);
  const scene = await aScene([...orders, '1', '2'], { refuse, room: () => room, concurrency: 1 });
  const { journal, forwarder, recorded } = scene;
  const waits = (deliveries: number) =>
    expect.poll(() => forwarder.waiting()).toMatchObject([{ account, reason: 'newOrders', deliveries }]);
  await waits(200);
  await expect.poll(() => [journal.depth(), recorded.delivered.length]).toEqual([200, 2]);
  await journal.append(aDelivery({ orderId: 'x7' }));
  await waits(201);
  const tries = recorded.calls.length;
  room = 300;
  await scene.isEmpty();
  expect(recorded.calls[tries]).toMatch(/^order x7: \w+ \w+$/);
  expect(forwarder.waiting()).toEqual([]);
});

it('what the journal has and nobody has tried yet counts as parked, and as waiting', async () => {
  const { journal, forwarder, recorded, release } = await aScene(['held'], {
    isHeld: true,
    room: () => 3,
    concurrency: 1,
  });
  const parkable = () => aDelivery({ orderId: null, parkReason: 'noOrderId', sealed: 'x' });
  let taken = 0;
  for (let sent = 0; sent < 10; sent += 1)
    if (forwarder.hasRoomFor(parkable())) {
      await journal.append(parkable());
      taken += 1;
    }
  expect(taken).toBe(3);
  expect(journal.heldOf(account)).toMatchObject({ toPark: 3, unproven: 1 });
  await journal.append(aDelivery({ orderId: 'p', isProven: true }));
  expect(journal.heldOf(account)).toMatchObject({ toPark: 3, unproven: 1 });
  release();
  await expect.poll(() => [journal.depth(), recorded.calls.length]).toEqual([0, 5]);
  expect(journal.heldOf(account)).toMatchObject({ toPark: 0, unproven: 0 });
});

it('the journal takes no delivery that cannot be parked now, and none of an account of which very many wait', async () => {
  const refuse = (call: string) => (/^order (x|stopped)/.test(call) ? new ShareUsedUp('newOrders') : undefined);
  const { journal, forwarder } = await aScene([], { refuse, room: () => 0 });
  const mayCome = (more: Parameters<typeof aDelivery>[0]) => forwarder.hasRoomFor(aDelivery(more));
  const parkable = { orderId: null, parkReason: 'noOrderId' } as const;
  expect([mayCome(parkable), mayCome({ orderId: 'x1' }), mayCome({ orderId: null })]).toEqual([false, true, true]);
  await Promise.all(Array.from({ length: 10_000 }, (_, n) => journal.append(aDelivery({ orderId: `x${n % 100}` }))));
  await expect.poll(() => forwarder.waiting()).toMatchObject([{ deliveries: 10_000 }]);
  const taken = Array.from({ length: 1_000 }, () => mayCome({ orderId: 'x1' })).filter(Boolean).length;
  expect(taken, 'ten a second, so that a genuine one is taken soon').toBeGreaterThanOrEqual(10);
  expect(taken).toBeLessThan(500);
  expect([mayCome({ account: partner }), mayCome({ isProven: true })]).toEqual([true, true]);
  await expect.poll(() => mayCome({ orderId: 'x1' })).toBe(true);
});

it('what the journal has no room for goes past it while Temporal takes deliveries, and not during an outage', async () => {
  const full = new JournalError('JournalFull', 'full');
  const { journal, forwarder, recorded } = await aScene();
  const unwritable = new JournalError('JournalUnwritable', 'disk');
  expect([full, unwritable].map((error) => forwarder.mayGoPast(error))).toEqual([true, false]);
  recorded.refuse = unavailable;
  await journal.append(aDelivery());
  await expect.poll(() => forwarder.mayGoPast(full)).toBe(false);
});
