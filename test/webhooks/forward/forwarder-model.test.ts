import { setTimeout as realTime } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createForwarder, type Forwarder } from '../../../src/webhooks/forward/forwarder.js';
import { type Journal, openJournal } from '../../../src/webhooks/journal/journal.js';
import { isLong } from '../../support/long.js';
import { aDelivery, aFolder, contentOf } from '../journal/folders.js';
import { recordedPort, unavailable } from './port.js';

// Waits of the forwarder pass at once; the disk is real and takes its time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

type Weather = 'fine' | 'down' | 'oneOrderStuck' | 'flaky' | 'checkUnknown';
type Step =
  | { do: 'append'; orderId: string | null; kind: 'plain' | 'unchecked' | 'parked' | 'report' | 'again' }
  | { do: 'weather'; is: Weather }
  | { do: 'wait'; ms: number }
  | { do: 'crash' };

const steps = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        do: fc.constant('append' as const),
        orderId: fc.option(fc.constantFrom('1', '2', '12', 'stuck')),
        kind: fc.constantFrom('plain', 'plain', 'unchecked', 'parked', 'report', 'again'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('weather' as const),
        is: fc.constantFrom<Weather[]>('fine', 'down', 'oneOrderStuck', 'flaky', 'checkUnknown'),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(3_000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  ),
  { maxLength: 60 },
) as fc.Arbitrary<Step[]>;

interface World {
  journal: Journal;
  forwarder: Forwarder;
  weather: Weather;
  acknowledged: string[];
  temporal: ReturnType<typeof recordedPort>;
}

async function open(world: World, folder: string): Promise<void> {
  world.journal = await openJournal({ folder, maxBytes: 2 ** 24, stallMs: 1e9 });
  const check = async () => {
    if (world.weather === 'checkUnknown') throw new Error('nobody knows');
    return null;
  };
  world.forwarder = createForwarder({ journal: world.journal, port: world.temporal.port, check, concurrency: 3 });
  world.forwarder.start();
}

function refusal(weather: Weather, call: string, count: number): Error | undefined {
  if (weather === 'down') return unavailable();
  if (weather === 'oneOrderStuck' && call.startsWith('order stuck')) return new Error('takes no more signals');
  return weather === 'flaky' && count % 3 !== 0 ? new Error('lost') : undefined;
}

async function take(world: World, step: Step, folder: string): Promise<void> {
  if (step.do === 'weather') world.weather = step.is;
  if (step.do === 'wait') await pass(step.ms);
  if (step.do === 'crash') {
    await world.forwarder.stop(0); // what is in flight goes on, and comes too late to be removed
    await world.journal.close();
    await open(world, folder);
  }
  if (step.do !== 'append') return;
  const deliveryId = step.kind === 'again' ? world.acknowledged.at(-1) : undefined;
  const delivery = aDelivery({
    orderId: step.orderId,
    ...(deliveryId !== undefined && { deliveryId }),
    ...(step.kind === 'unchecked' && { uncheckedGeneration: 'g1' }),
    ...(step.kind === 'parked' && { parkReason: 'otherCompany' as const }),
    ...(step.kind === 'report' && { eventType: 'business_report' as const }),
  });
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

function expectNothingLost({ journal, acknowledged, temporal }: World): void {
  const kept = contentOf(journal).map(({ deliveryId }) => deliveryId);
  const held = new Set([...kept, ...temporal.delivered]);
  expect(acknowledged.filter((id) => !held.has(id))).toEqual([]);
}

it(
  'whatever fails and whenever it crashes, all that was acknowledged is in the journal or at Temporal, and gets there',
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (script) => {
        const folder = await aFolder();
        const world = { weather: 'fine', acknowledged: [], temporal: recordedPort() } as unknown as World;
        world.temporal.refuse = (call) => refusal(world.weather, call, world.temporal.calls.length);
        await open(world, folder);
        for (const step of script) {
          await take(world, step, folder);
          expectNothingLost(world);
        }
        world.weather = 'fine';
        const begunAt = performance.now();
        while (world.journal.depth() > 0 && performance.now() - begunAt < 20_000) await pass(500);
        expect(world.journal.depth()).toBe(0);
        expect(world.acknowledged.filter((id) => !world.temporal.delivered.includes(id))).toEqual([]);
        await world.forwarder.stop(0);
        await world.journal.close();
      }),
      { numRuns: isLong ? 1_000 : 40 },
    );
  },
  isLong ? 600_000 : 60_000,
);
