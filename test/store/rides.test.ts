import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import type { Attention } from '../../src/domain/attention.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { StoredChange } from '../../src/domain/notify/notices.js';
import type { RideNotice } from '../../src/domain/ride/ride.js';
import { openStore, type Store } from '../../src/store/store.js';
import { usePostgres } from '../support/store/postgres.js';

const postgres = usePostgres();
let store: Store;

const account = toAccountName('business');
const secondOf = (second: number): string => new Date(Date.UTC(2031, 0, 1, 0, 0, second)).toISOString();
const attention = (code: Attention['code'], since = secondOf(0)): Attention => ({ code, message: code, since });
const orderId = toOrderId('7b21');
const states: Record<string, Partial<RideNotice>> = {
  unknown: { attention: attention('outcomeUnknown') },
  away: { attention: attention('upstreamUnavailable', secondOf(2)) },
  calm: {},
  named: { orderId },
  ended: { orderId, stage: 'ended', outcome: 'completed' },
};

/** Records that a ride shows a state: `1@5 named` is its first notice, told in the fifth second. */
async function recordRide(requestId: string, told: string): Promise<void> {
  const [, notice, second, state = ''] = /^(\d+)@(\d+) (\w+)$/.exec(told) ?? expect.fail(told);
  const blank = { stage: 'requesting', orderId: null, outcome: null, attention: null, failure: null } as const;
  const change: RideNotice = { account, requestId, ...blank, ...states[state] };
  const at = secondOf(Number(second));
  await store.record({ run: 'run', notice: Number(notice), at, type: 'ride.changed', change });
}

/** A change of an order. */
const orderChange = (notice: number, orderId: string, more: object = {}): StoredChange => {
  const at = secondOf(notice);
  const change = { account, orderId, status: 'Driving', rawStatus: `word ${notice}`, since: at, terminal: false };
  return {
    ...{ run: orderId, notice, at, type: 'order.changed' },
    change: { ...change, outcome: null, attention: null, ...more } as StoredChange['change'],
  };
};

async function periodsOf(id: string): Promise<string[]> {
  const query = `select code || case when cleared_at is null then '' else ' over' end as period from faretrail.attention
    where id = $1 order by since, cleared_at`;
  return (await postgres.rows<{ period: string }>(query, [id])).map(({ period }) => period);
}

const late = [
  orderChange(1, 'late'),
  orderChange(2, 'late', { attention: attention('latePickup', secondOf(2)) }),
  orderChange(3, 'late', { attention: attention('customerCare', secondOf(3)) }),
];

beforeAll(async () => {
  store = openStore(postgres.url);
  for (const change of late) await store.record(change);
});
afterAll(() => store.close());

it('attention about an order is one period until it goes, or until the order is followed no longer', async () => {
  const concern = { attention: attention('latePickup', secondOf(5)) };
  const changes = [
    orderChange(4, 'late'),
    orderChange(5, 'late', concern),
    orderChange(5, 'late', concern),
    orderChange(6, 'late', { ...concern, status: 'Waiting' }),
  ];
  for (const change of changes) await store.record(change);
  expect(await periodsOf('late')).toEqual(['latePickup over', 'customerCare over', 'latePickup']);
  await store.record(orderChange(7, 'late', { ...concern, outcome: 'stopped' }));
  expect((await periodsOf('late')).at(-1)).toEqual('latePickup over');
});

it.each<[string, told: string, shows: object, periods: string[]]>([
  ['what comes in order', '1@1 unknown, 2@2 named, 3@3 ended', { outcome: 'completed' }, ['outcomeUnknown over']],
  ['nothing twice', '1@1 unknown, 1@1 unknown', { attention: 'outcomeUnknown' }, ['outcomeUnknown']],
  ['no earlier one again', '1@1 unknown, 2@2 named, 1@1 unknown', { order_id: '7b21' }, ['outcomeUnknown over']],
  ['what a lost task did once', '1@1 named, 1@5 named', { changed_at: new Date(secondOf(1)) }, []],
  ['what the run found instead', '1@1 unknown, 2@1 calm, 1@5 named', { order_id: '7b21' }, ['outcomeUnknown over']],
  ['nothing of a worker that stood still', '1@5 ended, 1@2 named', { ended: true }, []],
  [
    'another attention as another period',
    ...(['1@1 unknown, 2@2 away', { attention: 'upstreamUnavailable' }] as const),
    ['outcomeUnknown over', 'upstreamUnavailable'],
  ],
])('a ride shows %s', async (requestId, told, shows, periods) => {
  for (const one of told.split(', ')) await recordRide(requestId, one);
  const rows = await postgres.rows('select * from faretrail.rides where request_id = $1', [requestId]);
  expect(rows).toMatchObject([shows]);
  expect(await periodsOf(requestId)).toEqual(periods);
});

it('a reader that remembers the last position sees each change of a ride', async () => {
  const after = (position: string) =>
    postgres.rows<{ position: string; request_id: string }>(
      'select position, request_id from faretrail.rides where position > $1 order by position',
      [position],
    );
  await recordRide('read', '1@1 unknown');
  const last = (await after('0')).at(-1)?.position ?? '0';
  await recordRide('read', '1@1 unknown');
  expect(await after(last)).toEqual([]);
  await recordRide('read', '2@2 ended');
  expect(await after(last)).toMatchObject([{ request_id: 'read' }]);
});

it('a receipt is a row for each change of its amounts', async () => {
  const amounts = { currency: 'EUR', net: null, tax: null };
  const record = (notice: number, total: string, second = notice) =>
    store.record({
      ...{ run: 'run', notice, at: secondOf(second), type: 'ride.receipt' },
      change: { account, orderId, ...amounts, total },
    });
  await record(1, '5.50');
  await record(1, '5.50', 2); // by a task that was done again
  await record(3, '4.40');
  await record(4, '5.50');
  await record(3, '4.40'); // from a worker that stood still
  const rows = await postgres.rows('select version, total from faretrail.receipts order by 1', []);
  expect(rows).toEqual([
    { version: 1, total: '5.50' },
    { version: 2, total: '4.40' },
    { version: 3, total: '5.50' },
  ]);
});

it('the page about the store asks what the store can answer', async () => {
  const page = readFileSync(join(projectRoot, 'docs/how-to/keep-changes-in-postgresql.md'), 'utf8');
  const [, questions = ''] = /## Ask it\n\n```sql\n(.*?)```/s.exec(page) ?? [];
  await recordRide('asked', '1@1 unknown');
  const [waits = '', costs = ''] = questions.split(';');
  const asked = { kind: 'ride', id: 'asked', code: 'outcomeUnknown' };
  expect(await postgres.rows(waits)).toContainEqual(expect.objectContaining(asked));
  expect(await postgres.rows(costs)).toEqual([]);
});
