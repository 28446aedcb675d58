import { Client } from 'pg';
import { startPostgres } from '../stack/postgres/postgres.js';
import { changeAll, liveChanges } from './freshness.js';
import { measureOrders, type OrderFigures, type OrdersOptions } from './orders.js';
import { alone, atLeastTimes, atMost, type Measure } from './report.js';
import { inFolder, repeat, takeTurns } from './rounds.js';
import { createSteps } from './steps.js';

const perSecond = 20;
const sides = ['stored', 'without'] as const;

/** What recording changes in PostgreSQL costs, and how soon a delivered change is a row. */
export async function benchStore({ temporal, orders, ...asked }: OrdersOptions): Promise<Measure[]> {
  return await inFolder((folder) =>
    inFolder(async (data) => {
      const postgres = await startPostgres(data, asked.say);
      const place = { folder, temporal };
      const workerEnv = { FARETRAIL_STORE_URL: postgres.url };
      const about = (side: string) => `store, whole orders, ${side}, about ${Math.round(20 + orders / 20)} s`;
      try {
        const whole = await takeTurns(asked, sides, about, (side) =>
          measureOrders(place, { orders, side: 'faretrail', ...(side === 'stored' && { workerEnv }) }),
        );
        const rows = await repeat(asked, 'store, delivery to row, about 50 s', async () => {
          const seen = await watchRows(postgres.url);
          const options = { perSecond, workerEnv };
          const changing = changeAll(place, options, (_site, orderId, status) => {
            const row = seen.next(`${orderId} ${status}`);
            return () => row;
          });
          return await changing.finally(seen.close);
        });
        return toMeasures(whole, rows);
      } finally {
        await postgres.stop();
      }
    }),
  );
}

/** Waits for rows as an outbox does. */
async function watchRows(url: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  const steps = createSteps();
  let last = '0';
  const look = async (): Promise<void> => {
    const after =
      'select position, order_id, raw_status from faretrail.order_changes where position > $1 order by position';
    const { rows } = await client.query<{ position: string; order_id: string; raw_status: string }>(after, [last]);
    for (const { position, order_id, raw_status } of rows) {
      last = position;
      steps.done(`${order_id} ${raw_status}`);
    }
  };
  let looking = Promise.resolve();
  client.on('notification', () => {
    looking = looking.then(look);
  });
  await client.query('listen faretrail_order_changes');
  return { next: steps.next, close: () => client.end() };
}

type Whole = Record<(typeof sides)[number], OrderFigures>;

function toMeasures(whole: readonly Whole[], rows: readonly { p50: number; p99: number }[]): Measure[] {
  const both = (key: keyof OrderFigures) =>
    whole.map(({ stored, without }) => ({ faretrail: stored[key], plain: without[key] }));
  const name = (what: string) => `announced orders, recorded in a store: ${what}`;
  const toRow = `${liveChanges(perSecond)}, delivery to row`;
  const late = (key: 'p50' | 'p99') => alone(rows.map((one) => one[key]));
  return [
    { name: name('orders/s'), unit: '', better: 'higher', rounds: both('perSecond'), ...atLeastTimes(0.95) },
    { name: name('CPU of the server, ms'), unit: '', better: 'lower', rounds: both('serverMs') },
    { name: name('CPU of the worker, ms'), unit: '', better: 'lower', rounds: both('workerMs') },
    { name: name('history events'), unit: '', better: 'lower', rounds: both('events') },
    { name: `${toRow}: p50`, unit: 'ms', better: 'lower', rounds: late('p50') },
    { name: `${toRow}: p99`, unit: 'ms', better: 'lower', rounds: late('p99'), ...atMost(250, 'ms') },
  ];
}
