import { Client } from 'pg';
import { afterEach, expect, it } from 'vitest';
import { toOrderId } from '../../src/domain/keys.js';
import { openStore, type Store } from '../../src/store/store.js';
import { account, changeOf, usePostgres } from '../support/store/postgres.js';

const postgres = usePostgres();
let store: Store;
afterEach(() => store.close());

const key = { account, orderId: toOrderId('7b21') };
const change = changeOf('7b21');

/** Makes the next use of a table wait, and kills the backend that waits, as a crash of PostgreSQL does: it says nothing. */
async function killWhileItWaitsFor(table: string, act: () => Promise<unknown>): Promise<unknown> {
  const other = new Client({ connectionString: postgres.url });
  other.on('error', () => undefined); // it dies with the others
  await other.connect();
  await other.query(`begin; lock table ${table} in access exclusive mode`);
  const answer = act().catch((error: unknown) => error);
  let waits: { pid: number }[] = [];
  const look = async () => {
    waits = await postgres.rows(`select pid from pg_stat_activity where wait_event_type = 'Lock'`);
    return waits.length;
  };
  await expect.poll(look).toBe(1);
  for (const { pid } of waits) process.kill(pid, 'SIGKILL');
  return await answer;
}

const works = async (): Promise<void> => {
  await expect.poll(() => postgres.rows('select 1').catch(() => [])).toHaveLength(1);
  await store.record(change);
  expect(await store.countRows(key)).toBe(1);
};

it('PostgreSQL dies while a change is written: that fails, and the next one is written', async () => {
  store = openStore(postgres.url);
  await store.rehearse();
  const failed = await killWhileItWaitsFor('faretrail.order_changes', () => store.record(change));
  expect(failed).toMatchObject({ message: expect.stringContaining('terminated') });
  await works();
});

it('PostgreSQL dies while the tables are made: that fails, and the next change makes them', async () => {
  const failed = await killWhileItWaitsFor('faretrail.migrations', () => {
    store = openStore(postgres.url);
    return store.rehearse();
  });
  expect(failed).toMatchObject({ message: expect.stringContaining('terminated') });
  await works();
});
