import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { aDelivery, aJournal } from '../journal/folders.js';
import { aForwarder, aScene, recordedPort, unavailable } from './port.js';

afterEach(() => void vi.useRealTimers());

const numbered = (count: number, orders = count) => Array.from({ length: count }, (_, n) => `${n % orders}`);

it('a forwarder empties the journal, with one call per order however many deliveries it has', async () => {
  const { recorded, isEmpty } = await aScene(numbered(120, 3));
  await isEmpty();
  expect([recorded.calls.length, recorded.delivered.length]).toEqual([3, 120]);
});

it('a forwarder forwards a new delivery at once', async () => {
  const { journal, recorded } = await aScene();
  const waits: number[] = [];
  for (let made = 0; made < 20; made += 1) {
    await journal.append(aDelivery({ orderId: `${made}` }));
    const since = performance.now();
    while (recorded.delivered.length <= made) await sleep(1);
    waits.push(performance.now() - since);
  }
  expect(Math.min(...waits), 'with ticks, each would wait for most of one').toBeLessThan(50);
});

it('a forwarder passes over what is gone from the journal by the time it reads it', async () => {
  const journal = await aJournal();
  const kept = aDelivery();
  for (const delivery of [aDelivery(), kept, aDelivery({ orderId: 'alone' })]) await journal.append(delivery);
  const keys = journal.keysAfter(0, 3);
  await journal.remove(keys.filter((_, index) => index !== 1));
  const keysAMomentAgo = (seq: number) => keys.filter(([number]) => number > seq);
  let reads = 0;
  const read: typeof journal.read = (wanted) => {
    reads += 1;
    if (reads > 10) throw new Error('reads the same again and again');
    return journal.read(wanted);
  };
  const onFailed = vi.fn();
  const { port, calls } = recordedPort();
  aForwarder({ journal: { ...journal, keysAfter: keysAMomentAgo, read }, port, onFailed });
  await expect.poll(() => journal.depth()).toBe(0);
  expect({ calls, reads }).toEqual({ calls: [`order 42: ${kept.deliveryId}`], reads: 2 });
  expect(onFailed).not.toHaveBeenCalled();
});

it('a forwarder has no more groups in flight than it may', async () => {
  let inFlight = 0;
  let most = 0;
  const toRun = async () => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    await sleep(5);
    inFlight -= 1;
    return 'signalled' as const;
  };
  const { isEmpty } = await aScene(numbered(40), { port: { ...recordedPort().port, toRun }, concurrency: 8 });
  await isEmpty();
  expect(most).toBe(8);
});

it('a forwarder that is stopped finishes what is in flight, and starts nothing more', async () => {
  const { journal, recorded, forwarder, release } = await aScene(['first'], { isHeld: true });
  const stopped = forwarder.stop(60_000);
  await journal.append(aDelivery({ orderId: 'second' }));
  release();
  await stopped;
  expect(recorded.calls.map((call) => call.split(':')[0])).toEqual(['order first']);
  expect(journal.depth()).toBe(1);
});

it('a forwarder that is stopped does not wait longer than it may for a call that never ends', async () => {
  const { recorded, forwarder } = await aScene(['42'], { isHeld: true });
  await forwarder.stop(50);
  expect(recorded.delivered).toEqual([]);
});

it('a forwarder makes few calls while Temporal is down, and goes on once it is back', async () => {
  const outages: boolean[] = [];
  const onOutage = (isOut: boolean) => void outages.push(isOut);
  const { journal, recorded, isEmpty } = await aScene(numbered(2_000), { refuse: unavailable, onOutage });
  const outSince = Date.now();
  for (let made = 0; made < 100; made += 1) {
    await journal.append(aDelivery({ orderId: `new ${made}` }));
    await sleep(20);
  }
  const probes = Math.ceil((Date.now() - outSince) / 500);
  expect(recorded.calls.length).toBeLessThan(64 + 16 + probes);
  recorded.refuse = () => undefined;
  await isEmpty();
  expect(new Set(recorded.delivered).size).toBe(2_100);
  expect(outages).toEqual([true, false]);
});

it('a forwarder probes Temporal with one delivery at a time while it is down, however many wait for an order', async () => {
  const { recorded, isEmpty } = await aScene(numbered(50, 1), { refuse: unavailable });
  await expect.poll(() => recorded.calls.length).toBeGreaterThan(2);
  const sizes = recorded.calls.map((call) => call.split(': ')[1]?.split(' ').length);
  expect(sizes).toEqual([50, ...sizes.slice(1).map(() => 1)]);
  recorded.refuse = () => undefined;
  await isEmpty();
  expect(recorded.delivered.length).toBe(50);
});

it('a forwarder notices that Temporal is back although all calls have hung', async () => {
  const { recorded, isEmpty } = await aScene(numbered(200), { refuse: unavailable, delayMs: 800 });
  await sleep(2_500);
  recorded.delayMs = 0;
  recorded.refuse = () => undefined;
  await isEmpty();
});
