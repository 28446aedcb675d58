import { expect, test } from 'vitest';
import type { StoredRow } from '../../../../dev/faults/chaos/store-site.js';
import { judgeReads, wrongRows } from '../../../../dev/faults/scale/judge.js';
import type { LedgerEntry } from '../../../../dev/sandbox/ledger.js';

const course = ['Pending', 'Driving', 'Completed'].map((status, i) => ({ status, at: i * 1_000 }));
const row = (change: number, status: string) => ({ change, status }) as StoredRow;

test.each([
  ['an order that is as the service says', [row(1, 'Pending'), row(2, 'Driving')], null],
  ['a status that no read met', [row(1, 'Pending'), row(2, 'Completed')], null],
  ['a change that is not known in time', [row(1, 'Pending')], 'shows Pending, the service Driving'],
  ['an order without a row', [], 'shows undefined, the service Driving'],
  ['a lost row', [row(1, 'Pending'), row(3, 'Driving')], 'has the numbers 1, 3'],
  [
    'a row that is there twice',
    [row(1, 'Driving'), row(2, 'Driving')],
    'has Driving > Driving, the service Pending > Driving > Completed',
  ],
  ['a word of another order', [row(1, 'Waiting')], 'has Waiting, the service Pending > Driving > Completed'],
])('%s', (_, rows, why) => {
  expect(wrongRows({ account: 'partner', orderId: 'o', course }, rows, 1_500)).toBe(why);
});

test('an account whose orders take turns is fair, and one that forgets an order is not', () => {
  const readEvery = (ms: number, orders: number, forMs: number): LedgerEntry[] =>
    Array.from({ length: forMs / ms }, (_, i) => ({
      ...{ at: new Date(i * ms).toISOString(), operation: 'orderStatus', method: 'GET', path: '/', httpStatus: 200 },
      orderId: `partner~${i % orders}`,
    }));
  const hour = { from: 0, until: 600_000, kills: [200_000] };
  const wanted = { polled: 300, announced: 1 }; // a hundred of each account
  const problemsOf = (calls: LedgerEntry[]) =>
    judgeReads(calls, hour, wanted).problems.filter((problem) => problem.startsWith('partner:'));
  const fair = readEvery(100, 100, hour.until);
  expect(problemsOf(fair)).toEqual([]);
  const forgotten = fair.filter(
    ({ orderId, at }) => orderId !== 'partner~7' || Date.parse(at) < 10_000 || Date.parse(at) > 400_000,
  );
  expect(problemsOf(forgotten)).toEqual(['partner: an order was not read for 400000 ms in a take-over']);
  const neglected = fair.filter((_, i) => i % 100 < 50 || Math.floor(i / 100) % 2 === 0); // half of them each second time
  expect(problemsOf(neglected)).toEqual([expect.stringMatching(/^partner: p99 between two reads is 20000 ms/)]);
  expect(problemsOf(readEvery(40, 100, hour.until))).toEqual(['partner: 25 requests a second in ten seconds']);
});
