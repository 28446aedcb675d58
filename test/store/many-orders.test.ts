import { beforeAll, describe, expect, it } from 'vitest';
import { createReads, type OrderFilter } from '../../src/desk/reads.js';
import { openStore } from '../../src/store/store.js';
import { usePostgres } from '../support/store/postgres.js';

// What the desk reads of 200,000 orders: by the rows that the server visits, not by the clock.

const postgres = usePostgres();

/** All have ended but for the oldest of every thousand. A small account has every two-thousandth, and one of its orders is open. */
const manyOrders = `insert into faretrail.orders (account, order_id, reference, status, raw_status, since, terminal, outcome, changes, changed_at)
  select case when n % 2000 = 1 then 'small' else 'business' end, 'order-' || n, 'PO ' || n, status, status, at, not is_open,
    case when is_open then null else 'completed' end, 1, at
  from generate_series(1, 200000) n
    cross join lateral (select n % 1000 = 0 or n = 1 as is_open, timestamptz '2031-01-01' + n * interval '1 s' as at) a
    cross join lateral (select case when is_open then 'Driving' when n % 500 = 3 then 'Cancelled' else 'Completed' end as status) b;
  insert into faretrail.rides (account, request_id, order_id, ended, outcome, changed_at, run, notice)
  select account, 'trip-' || order_id, order_id, true, 'completed', changed_at, 'run', 1 from faretrail.orders;
  set default_statistics_target = 10000; -- reads every row, so that the plans are the same each time
  analyze faretrail.orders; analyze faretrail.rides`;

interface Plan {
  Plans?: Plan[];
  [figure: string]: unknown;
}

/** The rows that a plan has looked at, those that it threw away included. */
function visited(plan: Plan): number {
  const loops = Number(plan['Actual Loops'] ?? 1);
  const figures = ['Rows Removed by Filter', 'Rows Removed by Index Recheck', 'Rows Removed by Join Filter'];
  const own = plan.Plans ? 0 : Number(plan['Actual Rows'] ?? 0);
  const all = own + figures.reduce((sum, name) => sum + Number(plan[name] ?? 0), 0);
  return all * loops + (plan.Plans ?? []).reduce((sum, one) => sum + visited(one), 0);
}

let store: ReturnType<typeof openStore>;
beforeAll(async () => {
  store = openStore(postgres.urlOf('postgres'), { connections: 2 });
  await store.trouble();
  await postgres.rows(manyOrders);
  return () => store.close();
}, 120_000);

/** The desk's statements, explained. */
const costs: number[] = [];
const explained = createReads({
  read: async (text, values) => {
    const [row] = await store.read<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json) ${text}`,
      values as unknown[],
    );
    if (row) costs.push(visited(row['QUERY PLAN'][0].Plan));
    return [];
  },
});

const costOf = async (act: () => Promise<unknown>): Promise<number> => {
  costs.length = 0;
  await act();
  return Math.max(...costs);
};

const page = new Date(Date.UTC(2031, 0, 1, 12)).toISOString();
const filters: OrderFilter[] = [undefined, 'open' as const, 'ended' as const].flatMap((state) =>
  [undefined, 'Driving', 'Cancelled', 'Completed', 'NoSuchWord'].flatMap((status) =>
    [undefined, 'business', 'small'].flatMap((account) =>
      [undefined, [page, 'business', 'order-9'] as const].map((before) => ({
        ...(state ? { state } : {}),
        ...(status ? { status } : {}),
        ...(account ? { account } : {}),
        ...(before ? { before } : {}),
      })),
    ),
  ),
);

describe('the list of orders', () => {
  it.each(filters.map((filter) => [JSON.stringify(filter), filter] as const))(
    'visits few rows for %s',
    async (_, filter) => {
      const cost = await costOf(() => explained.orders(filter));
      expect(cost).toBeLessThan(2_000);
    },
  );
});

it.each<[string, () => Promise<unknown>]>([
  ['a search', () => explained.search('order-7777', true)],
  ['rides without an order', () => explained.ridesWithoutOrder()],
  ['one order', () => explained.order('business', 'order-77')],
  ['what needs somebody', () => explained.inNeed()],
  ['what has changed', () => explained.changedSince(['0', '199900'])],
])('%s visits few rows', async (_, act) => {
  const cost = await costOf(act);
  expect(cost).toBeLessThan(2_000);
});

it('a statement that takes too long ends alone: others of the pool go on', async () => {
  const before = await postgres.rows(
    `select pid from pg_stat_activity where application_name = 'faretrail' order by 1`,
  );
  const slow = store.read('select pg_sleep(60)');
  await expect(slow).rejects.toMatchObject({ code: '57014' });
  await Promise.all([1, 2].map(() => store.read('select 1')));
  const after = await postgres.rows(`select pid from pg_stat_activity where application_name = 'faretrail' order by 1`);
  expect(after).toEqual(expect.arrayContaining(before));
});
