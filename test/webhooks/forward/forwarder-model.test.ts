import { setTimeout as realTime } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createForwarder, type Forwarder } from '../../../src/webhooks/forward/forwarder.js';
import { ShareUsedUp, type WaitReason } from '../../../src/webhooks/forward/routing.js';
import { type Journal, openJournal } from '../../../src/webhooks/journal/journal.js';
import { isLong } from '../../support/long.js';
import { aDelivery, aFolder, contentOf } from '../journal/folders.js';
import { recordedPort, unavailable } from './port.js';

// Waits of the forwarder pass at once; the disk is real and takes its time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const weathers = ['fine', 'down', 'oneOrderStuck', 'flaky', 'checkUnknown', 'crowded', 'fullOfParked'] as const;
const fullWeathers = { newOrders: 'crowded', parked: 'fullOfParked' } as const;
const contents = {
  plain: {},
  unchecked: { uncheckedGeneration: 'g1' },
  parked: { parkReason: 'otherCompany' },
  report: { eventType: 'business_report' },
} as const;

const append = fc.record({
  do: fc.constant('append' as const),
  orderId: fc.option(fc.constantFrom('1', '2', '12', 'stuck')),
  kind: fc.constantFrom('plain' as const, 'plain', 'unchecked', 'parked', 'report', 'again'),
});
const change = fc.record({ do: fc.constant('weather' as const), is: fc.constantFrom(...weathers) });
const wait = fc.record({ do: fc.constant('wait' as const), ms: fc.nat(3_000) });
const crash = fc.record({ do: fc.constant('crash' as const) });
const step = fc.oneof(
  { weight: 10, arbitrary: append },
  { weight: 3, arbitrary: change },
  { weight: 4, arbitrary: wait },
  { weight: 1, arbitrary: crash },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface World {
  folder: string;
  journal: Journal;
  forwarder: Forwarder;
  weather: (typeof weathers)[number];
  acknowledged: string[];
  temporal: ReturnType<typeof recordedPort>;
}

/** Opens the journal and starts a forwarder for it, at first and after each crash. */
async function open(world: World): Promise<void> {
  world.journal = await openJournal({ folder: world.folder, maxBytes: 2 ** 24, stallMs: 1e9 });
  const check = async () => {
    if (world.weather === 'checkUnknown') throw new Error('not known yet');
    return null;
  };
  const { journal, temporal } = world;
  const room = (reason: WaitReason) => (world.weather === fullWeathers[reason] ? 0 : 1);
  world.forwarder = createForwarder({ journal, port: temporal.port, check, room, concurrency: 3 });
  world.forwarder.start();
}

async function close({ forwarder, journal }: World): Promise<void> {
  await forwarder.stop(0); // what is in flight goes on, and comes too late to be removed
  await journal.close();
}

function refusal({ weather, temporal }: World, call: string): Error | undefined {
  if (weather === 'down') return unavailable();
  if (weather === 'crowded' && call.startsWith('order')) return new ShareUsedUp('newOrders');
  if (weather === 'fullOfParked' && call.startsWith('parked')) return new ShareUsedUp('parked');
  if (weather === 'oneOrderStuck' && call.startsWith('order stuck')) return new Error('takes no more signals');
  return weather === 'flaky' && temporal.calls.length % 3 !== 0 ? new Error('lost') : undefined;
}

async function take(world: World, step: Step): Promise<void> {
  if (step.do === 'weather') world.weather = step.is;
  if (step.do === 'wait') await pass(step.ms);
  if (step.do === 'crash') {
    await close(world);
    await open(world);
  }
  if (step.do !== 'append') return;
  const last = world.acknowledged.at(-1);
  const content = step.kind !== 'again' ? contents[step.kind] : last === undefined ? {} : { deliveryId: last };
  const delivery = aDelivery({ orderId: step.orderId, ...content });
  const appended = world.journal.append(delivery);
  await settle(appended);
  await appended;
  world.acknowledged.push(delivery.deliveryId);
}

/** The library lets go of what it reads by a timer. */
async function settle(work: Promise<unknown>): Promise<void> {
  let isOver = false;
  void work.finally(() => (isOver = true));
  while (!isOver) await pass(0);
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await realTime(1);
}

/** The acknowledged deliveries that are not among these. */
const missing = ({ acknowledged }: World, ids: readonly string[]) => {
  const held = new Set(ids);
  return acknowledged.filter((id) => !held.has(id));
};

it(
  'whatever fails and whenever it crashes, all that was acknowledged is in the journal or at Temporal, and gets there',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (script) => {
        const start = { folder: await aFolder(), weather: 'fine', acknowledged: [], temporal: recordedPort() };
        const world = start as unknown as World;
        world.temporal.refuse = (call) => refusal(world, call);
        await open(world);
        for (const one of script) {
          await take(world, one);
          const kept = contentOf(world.journal).map(({ deliveryId }) => deliveryId);
          expect(missing(world, [...kept, ...world.temporal.delivered])).toEqual([]);
        }
        world.weather = 'fine';
        const begunAt = performance.now();
        while (world.journal.depth() > 0 && performance.now() - begunAt < 20_000) await pass(500);
        expect(world.journal.depth()).toBe(0);
        expect(missing(world, world.temporal.delivered)).toEqual([]);
        await close(world);
      }),
      { numRuns: isLong ? 1_000 : 40 },
    );
  },
  isLong ? 600_000 : 60_000,
);
