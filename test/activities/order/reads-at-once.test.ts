import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuietTime } from '../../../src/activities/authorized-call.js';
import { createReadAtOnceActivities, createReadsAtOnce } from '../../../src/activities/reads-at-once.js';
import type { Account } from '../../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { noWatch } from '../../../src/domain/order/concern.js';
import type { LookInput, OrderReading } from '../../../src/domain/order/trail.js';
import { budgetShares } from '../../../src/domain/request-budget.js';

const name = toAccountName('business');
const { atOnce } = budgetShares({ announcesChanges: true });
const poll = { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 };
const accountWith = (requestsPerSecond: number, account = name): Account => ({
  ...{ name: account, interface: 'business', baseUrl: 'http://127.0.0.1:9', authUrl: 'http://127.0.0.1:9' },
  ...{ clientId: 'c', clientSecret: 's', businessId: 'b' },
  ...{ requestsPerSecond, poll, watch: noWatch, untracked: 'ignore' },
});

/** A process that knows its number of fellow workers. */
async function processOf(workers: number | (() => Promise<number>)) {
  const clock = { at: 1_000_000 };
  const countWorkers = typeof workers === 'number' ? async () => workers : workers;
  const reads = createReadsAtOnce({ countWorkers, now: () => clock.at });
  await reads.within(accountWith(16), async () => 'counts the workers');
  await Promise.resolve();
  const isRead = async (account: Account, read: () => Promise<unknown> = async () => 'read') =>
    (await reads.within(account, read)) !== undefined;
  return { clock, isRead, reads };
}

describe('the share of reads at once', () => {
  it('stays with that of the queue below the budget', () => {
    for (const { queue, atOnce } of [true, false].map((announcesChanges) => budgetShares({ announcesChanges })))
      expect(queue + atOnce).toBeCloseTo(0.9);
  });

  it('is nothing before the workers of the account were counted', async () => {
    const { isRead } = await processOf(() => new Promise<number>(() => undefined));
    expect(await isRead(accountWith(1_000))).toBe(false);
  });

  it('is nothing once the workers were not counted for a minute', async () => {
    let isDown = false;
    const { clock, isRead } = await processOf(async () => {
      if (isDown) throw new Error('Temporal does not answer');
      return 1;
    });
    isDown = true;
    clock.at += 59_000;
    expect(await isRead(accountWith(16))).toBe(true);
    clock.at += 2_000;
    expect(await isRead(accountWith(16))).toBe(false);
  });

  it('is there after a quiet hour: the read waits for a new count', async () => {
    let counted = 0;
    const { clock, isRead } = await processOf(async () => {
      await sleep(20); // as over the network
      counted += 1;
      return 1;
    });
    clock.at += 3_600_000;
    expect(await isRead(accountWith(16))).toBe(true);
    expect(counted).toBe(2);
  });

  it('is divided by the number of workers, and a new worker counts within 15 seconds', async () => {
    let workers = 1;
    const { clock, isRead } = await processOf(async () => workers);
    const account = accountWith(10 / atOnce); // ten a second at once
    const readsIn = async (seconds: number): Promise<number> => {
      let done = 0;
      for (let ms = 0; ms < seconds * 1_000; ms += 20) {
        clock.at += 20;
        if (await isRead(account)) done += 1;
      }
      return done;
    };
    await readsIn(5); // spends what was saved
    expect(await readsIn(10)).toBeCloseTo(100, -1);
    workers = 4;
    await readsIn(16);
    expect(await readsIn(10)).toBeCloseTo(25, -1);
  });

  it('holds in every stretch of time, whatever comes when', async () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 200 }), async (gaps, perSecond) => {
        const { clock, isRead } = await processOf(2);
        const at: number[] = [];
        for (const gap of gaps) {
          clock.at += gap;
          if (await isRead(accountWith(perSecond))) at.push(clock.at);
        }
        const perMs = (perSecond * atOnce) / 2 / 1_000;
        const saved = Math.max(1, perMs * 2_000);
        for (let from = 0; from < at.length; from += 1)
          for (let to = from; to < at.length; to += 1)
            expect(to - from + 1).toBeLessThanOrEqual(saved + ((at[to] ?? 0) - (at[from] ?? 0)) * perMs + 1e-6);
      }),
      { numRuns: 30 },
    );
  });

  it('lets no slow service hold more than twenty workflow tasks, and all services thirty', async () => {
    const { clock, isRead, reads } = await processOf(1);
    const never = () => new Promise<never>(() => undefined);
    const hold = (account: Account, times: number) => {
      for (let n = 0; n < times; n += 1) void reads.within(account, never);
    };
    const others = ['a', 'b', 'c'].map((other) => accountWith(1_000, toAccountName(other)));
    for (const other of others) await isRead(other); // counts their workers
    await Promise.resolve();
    clock.at += 2_000;
    hold(accountWith(1_000), 20);
    expect(await isRead(accountWith(1_000))).toBe(false);
    const [a, b, c] = others as [Account, Account, Account];
    expect(await isRead(a)).toBe(true);
    hold(a, 9); // beside the one that was read
    hold(b, 5);
    expect(await isRead(c)).toBe(false);
  });

  it.each([
    ['failed', async () => Promise.reject(new Error('503'))],
    ['took a second', async () => 'slow'],
  ])('rests for ten seconds after a read that %s', async (what, read) => {
    const { clock, isRead } = await processOf(1);
    clock.at += 2_000;
    await isRead(accountWith(1_000), async () => {
      if (what === 'took a second') clock.at += 1_000;
      return await read();
    });
    clock.at += 9_999;
    expect(await isRead(accountWith(1_000))).toBe(false);
    clock.at += 1;
    expect(await isRead(accountWith(1_000))).toBe(true);
  });

  it('rests only as long as the account has to wait: a new token must not send ten seconds of reads through the queue', async () => {
    const { clock, isRead } = await processOf(1);
    clock.at += 2_000;
    await isRead(accountWith(1_000), async () => Promise.reject(new QuietTime(100)));
    clock.at += 99;
    expect(await isRead(accountWith(1_000))).toBe(false);
    clock.at += 1;
    expect(await isRead(accountWith(1_000))).toBe(true);
  });

  it('is smaller at an interface that announces nothing, where the polls need the budget', async () => {
    const readsAt = async (account: Account): Promise<number> => {
      const { clock, isRead } = await processOf(1);
      clock.at += 60_000;
      let reads = 0;
      while (await isRead(account)) reads += 1;
      return reads;
    };
    expect(await readsAt(accountWith(20))).toBe(12);
    expect(await readsAt({ ...accountWith(20), interface: 'partner' } as Account)).toBe(4);
  });
});

describe('a read at once', () => {
  const reading: OrderReading = { status: 'Driving', rawStatus: 'Driving', terminal: false, details: null };
  const look: LookInput = {
    ...{ account: name, orderId: toOrderId('42'), shown: { rawStatus: null, attention: null } },
    ...{ since: '2026-11-24T00:00:00.000Z', scheduledAt: null, pushed: false, notBefore: null, mayBeUnknown: true },
  };
  const always = { within: async <T>(_account: Account, read: () => Promise<T>) => read().catch(() => undefined) };
  const activities = (readOrder: () => Promise<OrderReading>, holds = true) =>
    createReadAtOnceActivities({
      account: () => accountWith(16),
      holds: () => holds,
      readOrder,
      readSince: async () => look.since,
      readsAtOnce: always,
      now: () => Date.parse('2026-11-24T00:00:01.000Z'),
    });

  it('gives the reading and the pace of the account', async () => {
    expect(await activities(async () => reading).readOrderAtOnce(look)).toEqual({
      seen: { kind: 'reading', reading, at: '2026-11-24T00:00:01.000Z', reads: 1 },
      cadence: poll,
    });
  });

  it('gives nothing where the process does not hold the account, so the run reads through the queue', async () => {
    expect(await activities(async () => reading, false).readOrderAtOnce(look)).toBeNull();
  });

  it('gives nothing when the service does not answer within 2.5 seconds', async () => {
    const startedAt = performance.now();
    expect(await activities(() => new Promise(() => undefined)).readOrderAtOnce(look)).toBeNull();
    expect(performance.now() - startedAt).toBeGreaterThan(2_400);
  });
});
