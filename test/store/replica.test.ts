import { expect, it } from 'vitest';
import { checkStore } from '../../src/cli/doctor.js';
import { openStore } from '../../src/store/store.js';
import { patient } from '../support/patience.js';
import { changeOf, usePostgres } from '../support/store/postgres.js';

const postgres = usePostgres();

const positions = async (database: string): Promise<bigint[]> =>
  (await postgres.sql(database, 'select position from faretrail.order_changes order by 1')).map((row) =>
    BigInt(String(row.position)),
  );
async function record(database: string, orderIds: readonly string[]): Promise<void> {
  const store = openStore(postgres.urlOf(database));
  for (const orderId of orderIds) await store.record(changeOf(orderId));
  await store.close();
}

it('after a switch to a logical replica no change comes behind the marks of readers', async () => {
  await postgres.sql('postgres', `alter system set wal_level = 'logical'`);
  await postgres.stop();
  await postgres.start();
  for (const name of ['before', 'after']) await postgres.sql('postgres', `create database ${name}`);
  await record('before', ['1', '2', '3']);
  expect(await checkStore(postgres.urlOf('after'))).toMatchObject({ result: 'ok' }); // makes the tables
  const tables = ['orders', 'order_changes', 'rides', 'receipts', 'attention'].map((table) => `faretrail.${table}`);
  await postgres.sql('before', `create publication moved for table ${tables}`);
  await postgres.sql('before', `select pg_create_logical_replication_slot('moved', 'pgoutput')`);
  const from = `connection '${postgres.urlOf('before')}' publication moved`;
  await postgres.sql('after', `create subscription moved ${from} with (create_slot = false)`);
  await expect.poll(() => positions('after'), patient).toHaveLength(3);
  await postgres.sql('after', 'drop subscription moved');

  const marks = await positions('after');
  await record('after', ['4', '5']);
  const [fourth = 0n, fifth = 0n] = (await positions('after')).slice(marks.length);
  expect(await positions('after')).toHaveLength(5);
  expect(fourth > (marks.at(-1) ?? 0n) && fifth > fourth).toBe(true);
}, 300_000);
