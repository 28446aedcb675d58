import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openTally, readDeliveryTally } from '../../src/webhooks/tally/file.js';
import { createTally, type Tallied } from '../../src/webhooks/tally/tally.js';

const aFolder = () => mkdtempSync(join(tmpdir(), 'faretrail-tally-'));
const refused = { account: 'business', eventType: 'status_changed', outcome: 'ended', count: 1 };
const minute = 60_000;
const day = 24 * 60 * minute;

/** A tally with a clock of its own. */
function aTally() {
  const clock = { at: Date.parse('2026-05-01T08:00:00Z') };
  const tally = createTally(
    [],
    () => undefined,
    () => clock.at,
  );
  return {
    ...tally,
    pass(ms: number): void {
      clock.at += ms;
    },
    countOf: (outcome: string) =>
      tally.lines().reduce((sum, line) => sum + (line.outcome === outcome ? line.count : 0), 0),
  };
}

it('deliveries of one minute that end alike are one line, with the orders of late ones', () => {
  const { add, lines, pass } = aTally();
  for (let sent = 0; sent < 1_000; sent += 1) add(refused);
  pass(30_000);
  add({ ...refused, count: 2 });
  pass(40_000);
  add(refused);
  for (let orderId = 1; orderId <= 12; orderId += 1) add({ ...refused, outcome: 'late', orderId: `${orderId}` });
  add({ ...refused, outcome: 'late', orderId: '5' });
  const shared = { account: 'business', eventType: 'status_changed' };
  const second = '2026-05-01T08:01:10.000Z';
  expect(lines()).toEqual([
    {
      ...shared,
      outcome: 'ended',
      from: '2026-05-01T08:00:00.000Z',
      to: '2026-05-01T08:00:30.000Z',
      count: 1_002,
      orders: [],
    },
    { ...shared, outcome: 'ended', from: second, to: second, count: 1, orders: [] },
    {
      ...shared,
      outcome: 'late',
      from: second,
      to: second,
      count: 13,
      orders: ['3', '4', '6', '7', '8', '9', '10', '11', '12', '5'],
    },
  ]);
});

it('a flood of hours grows nothing, forgets no delivery, and displaces none of another kind', () => {
  const { add, lines, pass, countOf } = aTally();
  add({ ...refused, outcome: 'wrongSecret' });
  add({ ...refused, count: 7 });
  pass(2 * day);
  for (let passed = 0; passed < 1_000; passed += 1) {
    add({ ...refused, count: 3 });
    pass(minute);
  }
  expect(lines()).toHaveLength(41);
  expect(countOf('ended')).toBe(3_007);
  expect(countOf('wrongSecret')).toBe(1);
  const ended = lines().filter(({ outcome }) => outcome === 'ended');
  expect(ended.at(-1)).toMatchObject({ count: 3 });
  expect(ended[0], 'two days before').toMatchObject({ to: '2026-05-01T08:00:00.000Z', count: 7 });
  pass(8 * day);
  expect(lines()).toEqual([]);
});

it('counts all of whatever comes, in the order of time, within its bounds', () => {
  const deliveries: fc.Arbitrary<[Tallied, number][]> = fc.array(
    fc.tuple(
      fc.record({
        account: fc.constantFrom('', 'a'),
        eventType: fc.constant('status_changed'),
        outcome: fc.constantFrom('ended', 'late'),
        count: fc.integer({ min: 1, max: 100 }),
        orderId: fc.constantFrom(null, '1', '2'),
      }),
      fc.integer({ min: 0, max: 3 * minute }),
    ),
    { minLength: 200, maxLength: 500 },
  );
  fc.assert(
    fc.property(deliveries, (all) => {
      const { add, lines, pass } = aTally();
      for (const [delivery, ms] of all) {
        add(delivery);
        pass(ms);
      }
      const sum = (counts: readonly { count: number }[]) => counts.reduce((total, { count }) => total + count, 0);
      expect(sum(lines())).toBe(sum(all.map(([delivery]) => delivery)));
      const kindOf = ({ account, eventType, outcome }: Pick<Tallied, 'account' | 'eventType' | 'outcome'>) =>
        `${account}/${eventType}/${outcome}`;
      for (const kind of new Set(lines().map(kindOf))) {
        const ofKind = lines().filter((line) => kindOf(line) === kind);
        expect(ofKind.length).toBeLessThanOrEqual(40);
        const times = ofKind.flatMap(({ from, to }) => [from, to]);
        expect(times).toEqual([...times].sort());
      }
    }),
  );
});

it('an ingress that starts again goes on with the tally of the last one, and replaces a file that it cannot read', async () => {
  const folder = aFolder();
  const failures: unknown[] = [];
  const open = () => openTally({ folder, onFailure: (error) => failures.push(error), writeEveryMs: 10 });
  expect(await readDeliveryTally(folder)).toBeNull();
  const first = await open();
  first.add({ ...refused, outcome: 'late', orderId: '7b21' });
  await expect.poll(() => readDeliveryTally(folder)).toMatchObject([{ count: 1, orders: ['7b21'] }]);
  await first.close();
  const second = await open();
  second.add(refused);
  await second.close();
  expect((await readDeliveryTally(folder))?.map(({ outcome }) => outcome)).toEqual(['late', 'ended']);

  const file = join(folder, 'tally.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"ended"', '7'));
  await expect(readDeliveryTally(folder)).rejects.toMatchObject({ code: 'TallyUnreadable' });
  const third = await open();
  third.add(refused);
  await third.close();
  expect(await readDeliveryTally(folder)).toMatchObject([{ outcome: 'ended', count: 1 }]);
  expect(failures).toMatchObject([{ code: 'TallyUnreadable' }]);
});
