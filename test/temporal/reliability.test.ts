import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { toOrderId } from '../../src/domain/keys.js';
import { createReliability } from '../../src/temporal/reliability.js';
import { businessAccount, partnerAccount } from '../ride-api/accounts.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const iso = (epochMs: number): string => new Date(epochMs).toISOString();
const minute = 60_000;
const day = 24 * 60 * minute;
const pace = { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000, provenMs: 600_000 };
const account = { ...businessAccount(), poll: pace };
const orderId = toOrderId('4711');

/** The run of the subscription, as Temporal shows it, and a worker that reads it. */
function stage(step: number) {
  const run = {
    now: start,
    memo: { reliability: { step, until: iso(start + day), missedAt: null as string | null } } as object,
    isDown: false,
    taskQueue: 'q',
    reads: 0,
    signals: [] as unknown[],
    shown: [] as number[],
    missed: 0,
  };
  const unlessDown = () => {
    if (run.isDown) throw new Error('down');
  };
  const handle = {
    async describe() {
      run.reads += 1;
      unlessDown();
      const { memo, taskQueue } = run;
      return { status: { name: 'RUNNING' }, startTime: new Date(start), memo, taskQueue };
    },
    async signal({ name }: { name: string }, about: object) {
      unlessDown();
      run.signals.push({ name, ...about });
    },
  };
  const client = {
    withDeadline: <T>(_deadline: number, act: () => Promise<T>) => act(),
    workflow: { getHandle: () => handle },
  } as unknown as Client;
  const worker = () =>
    createReliability({
      client,
      taskQueue: 'q',
      now: () => run.now,
      watch: {
        countMiss: () => {
          run.missed += 1;
        },
        showEarned: ({ earned }) => void run.shown.push(earned),
      },
    });
  const publish = (memo: { step: number; until?: string; missedAt?: string | null }) => {
    run.memo = { reliability: { until: iso(start + day), missedAt: null, ...memo } };
  };
  return { run, publish, worker, reliability: worker() };
}

it('a worker reads what is proven at most twice a minute, however many polls ask', async () => {
  const { run, publish, reliability } = stage(2);
  const all = await Promise.all(Array.from({ length: 20 }, () => reliability.of(account)));
  expect(new Set(all.map(({ earned }) => earned))).toEqual(new Set([0.5]));
  publish({ step: 4 });
  run.now += 29_999;
  expect((await reliability.of(account)).earned).toBe(0.5);
  expect(run.reads).toBe(1);
  run.now += 1;
  expect((await reliability.of(account)).earned).toBe(1);
  expect(run.reads).toBe(2);
  expect(run.shown).toEqual([0.5, 1]);
});

it('nothing is proven where no run says so, where it cannot be read, on another task queue, or after its time', async () => {
  const earnedAfter = async (change: (one: ReturnType<typeof stage>) => void) => {
    const one = stage(4);
    change(one);
    return (await one.reliability.of(account)).earned;
  };
  expect(await earnedAfter(() => undefined)).toBe(1);
  expect(await earnedAfter(({ run }) => Object.assign(run, { memo: {} }))).toBe(0);
  expect(await earnedAfter(({ run }) => Object.assign(run, { memo: { reliability: { step: 9 } } }))).toBe(0);
  expect(await earnedAfter(({ run }) => Object.assign(run, { isDown: true }))).toBe(0);
  expect(await earnedAfter(({ run }) => Object.assign(run, { taskQueue: 'other' }))).toBe(0);
  expect(await earnedAfter(({ run }) => Object.assign(run, { now: start + day }))).toBe(0);
});

it('a worker asks nothing for an account that cannot subscribe or whose longest pause is the usual one', async () => {
  const { run, reliability } = stage(4);
  for (const one of [
    { ...partnerAccount(), poll: pace },
    { ...account, poll: { ...pace, provenMs: 120_000 } },
  ])
    expect(await reliability.of(one)).toEqual({ earned: 0, takesMisses: false });
  expect(run.reads).toBe(0);
});

it('a miss is told to the run at once, and this worker stretches nothing before the run has published it', async () => {
  const { run, publish, reliability } = stage(4);
  await reliability.of(account);
  await reliability.miss(account, orderId);
  expect(run.signals).toEqual([{ name: 'deliveryMissed', orderId }]);
  expect(await reliability.of(account)).toEqual({ earned: 0, takesMisses: false });
  run.now += 2 * minute;
  expect((await reliability.of(account)).earned, 'an older record').toBe(0);
  publish({ step: 1, missedAt: iso(start) });
  run.now += minute;
  expect((await reliability.of(account)).earned, 'earned again').toBe(0.25);
  expect(run.missed).toBe(1);
});

it('other workers read a miss within a minute', async () => {
  const { run, publish, reliability, worker } = stage(4);
  const other = worker();
  expect((await other.of(account)).earned).toBe(1);
  await reliability.miss(account, orderId);
  publish({ step: 0, missedAt: iso(start) });
  run.now += 30_000;
  expect((await other.of(account)).earned).toBe(0);
});

it('many misses are told once: not again within a minute, nor within ten while nothing is proven', async () => {
  const { run, publish, reliability, worker } = stage(4);
  await Promise.all([1, 2, 3].map(() => reliability.miss(account, orderId)));
  expect(run.signals).toHaveLength(1);
  publish({ step: 0, missedAt: iso(start) });
  run.now += 9 * minute;
  for (const one of [reliability, worker()]) {
    expect((await one.of(account)).takesMisses).toBe(false);
    await one.miss(account, orderId);
  }
  expect(run.signals).toHaveLength(1);
  run.now += minute;
  expect((await reliability.of(account)).takesMisses).toBe(true);
  await reliability.miss(account, orderId);
  expect(run.signals).toHaveLength(2);
  expect(run.missed).toBe(6);
});

it('a miss that could not be told is told later', async () => {
  const { run, reliability } = stage(4);
  await reliability.of(account);
  run.isDown = true;
  await reliability.miss(account, orderId);
  run.now += 5_000;
  expect((await reliability.of(account)).earned).toBe(0);
  run.isDown = false;
  run.now += 5_000;
  expect((await reliability.of(account)).earned).toBe(0);
  expect(run.signals).toEqual([{ name: 'deliveryMissed', orderId }]);
});
