import { expect, it } from 'vitest';
import { type OrderId, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { createNewOrders, limitNewOrders, TooManyNewOrders } from '../../../src/webhooks/forward/new-orders.js';
import { aDelivery } from '../journal/folders.js';
import { aScene, recordedPort } from './port.js';

const account = toAccountName('business');
const key = (orderId: string, of = account) => ({ account: of, orderId: toOrderId(orderId) });

const roomFor = (newOrders: () => number) => ({ newOrders, newReports: () => 0 });

/** A Temporal with the runs that the test and the deliveries start. */
function aTemporal(atOnce: number) {
  const temporal = {
    now: 0,
    runs: new Set<string>(),
    read: new Set<string>(),
    ended: new Set<OrderId>(),
    asked: 0,
    answers: true,
    starting: Promise.resolve(),
  };
  const newOrders = createNewOrders({
    atOnce,
    now: () => temporal.now,
    port: {
      signalOrder: async ({ orderId }) => temporal.runs.has(orderId),
      async toOrder({ orderId }) {
        if (temporal.ended.has(orderId)) return 'late';
        await temporal.starting;
        temporal.runs.add(orderId);
        if (!temporal.answers) throw new Error('lost');
        return 'started';
      },
      isSettled: ({ orderId }) => isSettled(orderId),
      signalReport: async ({ about }) => temporal.runs.has(about),
      async toReport({ about }) {
        temporal.runs.add(about);
        return 'reported';
      },
      isReportSettled: ({ about }) => isSettled(about),
    },
  });
  async function isSettled(id: string): Promise<boolean> {
    temporal.asked += 1;
    if (!temporal.answers) throw new Error('down');
    return temporal.read.has(id) || !temporal.runs.has(id);
  }
  return { ...newOrders, temporal, send: (orderId: string, of = account) => newOrders.toOrder(key(orderId, of), []) };
}

it('so many orders start at once, another waits until a read has found one of them, and a run always gets its delivery', async () => {
  const { send, room, temporal } = aTemporal(2);
  expect([await send('1'), await send('2'), room.newOrders(account)]).toEqual(['started', 'started', 0]);
  temporal.now += 1_000;
  await expect(send('3')).rejects.toThrow(TooManyNewOrders);
  temporal.runs.add(toOrderId('called'));
  expect([await send('1'), await send('called')]).toEqual(['signalled', 'signalled']);
  expect(await send('9', toAccountName('partner')), 'each account has its own share').toBe('started');
  temporal.read.add(toOrderId('2'));
  temporal.now += 1_000;
  expect(await send('3')).toBe('started');
});

it('reports have places of their own, and one of a run that is known needs none', async () => {
  const { send, toReport, room, temporal } = aTemporal(2);
  const report = (about: string) => toReport({ account, about: toOrderId(about) }, []);
  expect([await report('1'), await report('2')]).toEqual(['reported', 'reported']);
  await expect(report('3')).rejects.toThrow(expect.objectContaining({ held: 'newReports' }));
  expect([room.newReports(account), room.newOrders(account)]).toEqual([0, 2]);
  expect(await send('4'), 'reports hold up no order').toBe('started');
  temporal.runs.add('followed');
  expect([await report('1'), await report('followed')]).toEqual(['reported', 'reported']);
  temporal.read.add('1');
  temporal.now += 1_000;
  expect(await report('3')).toBe('reported');
});

it('however many come together, and however long their starts take, no more start than may', async () => {
  const { send, temporal } = aTemporal(2);
  const together = (names: string[]) => Promise.all(names.map((name) => send(name).catch((error) => error.code)));
  const started = (answers: unknown[]) => answers.filter((answer) => answer === 'started').length;
  expect(started(await together(['1', '2', '3', '4', '5']))).toBe(2);

  temporal.now += 1_000;
  for (const id of temporal.runs) temporal.read.add(id);
  expect(started(await together(['6', '7', '8', '9'])), 'all had waited for the same room').toBe(2);

  temporal.now += 1_000;
  for (const id of temporal.runs) temporal.read.add(id);
  let letStart = (): void => undefined;
  temporal.starting = new Promise((resolve) => (letStart = resolve));
  const slow = together(['a', 'b']);
  await new Promise(setImmediate);
  temporal.now += 1_000;
  expect(started(await together(['c', 'd'])), 'a run that is starting is not one that has ended').toBe(0);
  letStart();
  expect(started(await slow)).toBe(2);
});

it('an order whose run has ended makes room, and so does one that needed no run', async () => {
  const { send, room, temporal } = aTemporal(1);
  temporal.ended.add(toOrderId('old'));
  expect([await send('old'), room.newOrders(account)]).toEqual(['late', 1]);
  await send('1');
  temporal.runs.clear();
  temporal.now += 1_000;
  expect(await send('2')).toBe('started');
});

it('a start whose answer was lost keeps its place', async () => {
  const { send, room, temporal } = aTemporal(1);
  temporal.answers = false;
  await expect(send('1')).rejects.toThrow('lost');
  expect(room.newOrders(account)).toBe(0);
  await expect(send('2')).rejects.toThrow(TooManyNewOrders);
  expect(await send('1')).toBe('signalled');
});

it('runs are asked once a second, however many deliveries wait', async () => {
  const { send, temporal } = aTemporal(3);
  for (const order of ['1', '2', '3']) await send(order);
  for (let second = 0; second < 5; second += 1, temporal.now += 1_000) {
    const sent = Array.from({ length: 50 }, (_, n) => send(`x${n}`).catch((error) => error.code));
    expect(new Set(await Promise.all(sent))).toEqual(new Set(['TooManyNewOrders']));
  }
  expect(temporal.asked).toBe(15);
});

it('the port is as it was where the limit is off', () => {
  const { port } = recordedPort();
  expect(limitNewOrders(port as never, null)).toEqual({ port });
});

it('a forwarder keeps deliveries about orders that may not start, forwards the others, and starts the newest when there is room', async () => {
  const refuse = (call: string) =>
    /^order x/.test(call) && room === 0 ? new TooManyNewOrders('newOrders') : undefined;
  let room = 0;
  const orders = Array.from({ length: 200 }, (_, n) => `x${n}`);
  const scene = await aScene([...orders, '1', '2'], { refuse, roomForNew: roomFor(() => room), concurrency: 1 });
  const { journal, forwarder, recorded } = scene;
  await expect.poll(() => forwarder.held().newOrders.get(account)).toBe(200);
  await expect.poll(() => [journal.depth(), recorded.delivered.length]).toEqual([200, 2]);
  await journal.append(aDelivery({ orderId: 'x7' }));
  await expect.poll(() => forwarder.held().newOrders.get(account)).toBe(201);
  const tries = recorded.calls.length;
  room = 300;
  await scene.isEmpty();
  expect(recorded.calls[tries]).toMatch(/^order x7: \w+ \w+$/);
  expect(forwarder.held().newOrders.size).toBe(0);
});

it('a forwarder keeps reports that may not start apart from orders, and forwards them when there is room', async () => {
  const refuse = (call: string) =>
    /^report/.test(call) && room === 0 ? new TooManyNewOrders('newReports') : undefined;
  let room = 0;
  const scene = await aScene(['1'], { refuse, roomForNew: { newOrders: () => 0, newReports: () => room } });
  await scene.journal.append(aDelivery({ orderId: '2', eventType: 'business_report' }));
  await expect.poll(() => [...scene.forwarder.held().newReports]).toEqual([[account, 1]]);
  expect(scene.forwarder.held().newOrders.size).toBe(0);
  room = 1;
  await scene.isEmpty();
});

it('the journal has room for reports while very many new orders of an account wait, and for other accounts', async () => {
  const refuse = (call: string) => (/^order x/.test(call) ? new TooManyNewOrders('newOrders') : undefined);
  const { journal, forwarder } = await aScene(['1'], { refuse, roomForNew: roomFor(() => 0) });
  await expect.poll(() => journal.depth()).toBe(0);
  const flood = Array.from({ length: 10_000 }, (_, n) => journal.append(aDelivery({ orderId: `x${n % 100}` })));
  await Promise.all(flood);
  await expect.poll(() => forwarder.held().newOrders.get(account)).toBe(10_000);
  const mayCome = (more: Parameters<typeof aDelivery>[0]) => forwarder.hasRoomFor(aDelivery(more));
  expect([mayCome({ orderId: '1' }), mayCome({ orderId: 'x1' })]).toEqual([false, false]);
  expect(mayCome({ eventType: 'business_report' })).toBe(true);
  expect(mayCome({ account: toAccountName('partner') })).toBe(true);
});
