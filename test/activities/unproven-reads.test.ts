import { expect, it } from 'vitest';
import { createUnprovenReads } from '../../src/activities/unproven-reads.js';
import type { Account } from '../../src/domain/account.js';

const account = { name: 'business', requestsPerSecond: 16 } as Account;

/** Lets strangers' reads come for a minute, each again when its turn is; how many were made by each second. */
async function made(reads: number, processes: number): Promise<number[]> {
  let now = 0;
  const turns = createUnprovenReads({ processes: async () => processes, monotonic: () => now });
  turns.waitMs(account, 'first'); // so that the processes are counted
  await Promise.resolve();
  const due = new Map(Array.from({ length: reads }, (_, n) => [`${n}`, 0]));
  const bySecond: number[] = [];
  for (; now < 60_000; now += 10) {
    for (const [id, at] of due) {
      if (at > now) continue;
      const waitMs = turns.waitMs(account, id);
      if (waitMs === 0) due.delete(id);
      else due.set(id, now + Math.ceil(waitMs));
    }
    if (now % 1_000 === 990) bySecond.push(reads - due.size);
  }
  return bySecond;
}

it('reads of orders that only strangers name take at most a tenth of the account, and a few may go at once', async () => {
  const [first = 0, ...others] = await made(500, 1);
  expect(first).toBeLessThanOrEqual(10);
  expect(first).toBeGreaterThanOrEqual(4);
  const last = others.at(-1) ?? 0;
  expect((last - first) / 59).toBeCloseTo(1.6, 1);
});

it('several processes share that tenth', async () => {
  const [first = 0, ...others] = await made(500, 4);
  expect(((others.at(-1) ?? 0) - first) / 59).toBeCloseTo(0.4, 1);
});

it('a read that waits keeps its turn, and a real order among few others does not wait', () => {
  let now = 0;
  const turns = createUnprovenReads({ processes: async () => 1, monotonic: () => now });
  const waits = Array.from({ length: 20 }, (_, n) => turns.waitMs(account, `${n}`));
  const [last = 0] = waits.slice(-1);
  expect(last).toBeGreaterThan(0);
  expect(turns.waitMs(account, '19')).toBe(last);
  now += last;
  expect(turns.waitMs(account, '19')).toBe(0);
  now += 60_000;
  expect([turns.waitMs(account, 'a'), turns.waitMs(account, 'b')]).toEqual([0, 0]);
});
