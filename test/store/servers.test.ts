import { chownSync, copyFileSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type PgBouncer, startPgBouncer } from '../../dev/stack/postgres/pgbouncer.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { type Check, checkStore } from '../../src/cli/doctor.js';
import { findServer } from '../../src/store/server.js';
import { openStore } from '../../src/store/store.js';
import { createAuthority } from '../support/server/certificates.js';
import { changeOf, usePostgres } from '../support/store/postgres.js';

const postgres = usePostgres();

const urlOf: typeof postgres.urlOf = (...given) => postgres.urlOf(...given);
const sql: typeof postgres.sql = (...given) => postgres.sql(...given);

/** The address of a new database for a role of its own. */
async function roleWith(name: string, rights: string): Promise<string> {
  await sql('postgres', `create database ${name}`);
  await sql(name, `create role ${name} login password 'a-secret'; ${rights}`);
  return `postgresql://${name}:a-secret@127.0.0.1:${postgres.port}/${name}`;
}

/** Writes a change of each order with a store of its own, at once. */
async function write(url: string, orderIds = ['7b21']): Promise<void> {
  const writeOne = async (orderId: string) => {
    const store = openStore(url);
    await store.record(changeOf(orderId)).finally(() => store.close());
  };
  await Promise.all(orderIds.map(writeOne));
}
const written = async (database: string): Promise<unknown[]> =>
  (await sql(database, 'select order_id from faretrail.order_changes order by 1')).map((row) => row.order_id);

/** What the doctor says of the store. */
async function diagnosed(url: string): Promise<Omit<Check, 'name'>> {
  const { name: _, ...said } = await checkStore(url);
  for (const secret of ['a-secret', postgres.password]) expect(said.message).not.toContain(secret);
  return said;
}
const fine = { result: 'ok', message: expect.stringMatching(/takes changes, in clear$/) };

it('a role that only owns the schema makes the tables and writes', async () => {
  const url = await roleWith('owner', 'create schema faretrail authorization owner');
  expect(await diagnosed(url)).toEqual(fine);
  await write(url);
  expect(await written('owner')).toEqual(['7b21']);
});

it('a role that may only write does so once the tables are there', async () => {
  const url = await roleWith('writer', '');
  const denied = (why: string) => `permission denied for ${why} \\(42501\\); its role must own`;
  const failed = (why: string) => ({ result: 'failed', message: expect.stringMatching(denied(why)) });
  expect(await diagnosed(url)).toEqual(failed('database writer'));
  await write(urlOf('writer'));
  expect(await diagnosed(url)).toEqual(failed('schema faretrail'));
  await sql(
    'writer',
    `grant usage on schema faretrail to writer; grant usage on all sequences in schema faretrail to writer;
    grant select, insert, update on all tables in schema faretrail to writer`,
  );
  await write(url, ['7b22']);
  expect(await diagnosed(url), 'it may not erase').toEqual(failed('table \\w+'));
  await sql('writer', 'grant delete on all tables in schema faretrail to writer');
  expect(await diagnosed(url)).toEqual(fine);
});

it('the doctor changes nothing, and says that a server takes no writes', async () => {
  await sql('postgres', 'create database standby');
  expect(await diagnosed(urlOf('standby'))).toEqual(fine);
  expect(await sql('standby', 'select from faretrail.orders')).toEqual([]);
  await sql('standby', 'alter database standby set default_transaction_read_only = on');
  const message = expect.stringMatching(/read-only transaction \(25006\); the server is read-only/);
  expect(await diagnosed(urlOf('standby'))).toEqual({ result: 'failed', message });
});

describe('a release', () => {
  const ours = join(projectRoot, 'src/store/migrations');
  /** The folder of migrations of another release. */
  function release(files: string[], more: Record<string, string> = {}): string {
    const folder = mkdtempSync(join(tmpdir(), 'faretrail-release-'));
    for (const file of files) copyFileSync(join(ours, file), join(folder, file));
    for (const [file, text] of Object.entries(more)) writeFileSync(join(folder, file), text);
    return folder;
  }
  const first = ['0001-tables.sql', '0002-recording.sql'];
  /** The way of releases before this one. */
  async function migrateAsBefore(database: string): Promise<void> {
    const dbClient = new Client({ connectionString: urlOf(database) });
    await dbClient.connect();
    const table = { migrationsSchema: 'faretrail', migrationsTable: 'migrations', log: () => undefined };
    await runner({
      ...{ dbClient, dir: release(first), direction: 'up', schema: 'faretrail', createSchema: true },
      ...{ ...table, advisoryLockMode: 'wait' },
    }).finally(() => dbClient.end());
  }
  const next = release(readdirSync(ours), {
    '0009-next.sql': `alter table faretrail.orders add column next text; select pg_sleep(0.2);
      alter table faretrail.order_changes add column next text;`,
  });

  it('and the one before it migrate side by side, and each finds what the other has made', async () => {
    for (const database of ['side_1', 'side_2']) {
      await sql('postgres', `create database ${database}`);
      const before = [1, 2, 3].map(() => migrateAsBefore(database));
      const found = await Promise.all([1, 2, 3].map(() => findServer(urlOf(database))).concat(before as never));
      expect(found.slice(0, 3)).toMatchObject([{ newer: [] }, { newer: [] }, { newer: [] }]);
      await migrateAsBefore(database);
      await write(urlOf(database));
    }
  });

  it('migrates among writers without a deadlock, and the one before it writes on', async () => {
    await sql('postgres', 'create database busy');
    await findServer(urlOf('busy'));
    const stores = [1, 2, 3].map(() => openStore(urlOf('busy')));
    const orders = Array.from({ length: 60 }, (_, n) => `busy-${n}`);
    let upgrade: Promise<unknown> = Promise.resolve();
    for (const [n, orderId] of orders.entries()) {
      if (n === 20) upgrade = Promise.all([1, 2].map(() => findServer(urlOf('busy'), next)));
      await Promise.all(stores.map((store) => store.record(changeOf(orderId))));
    }
    await upgrade;
    await Promise.all(stores.map((store) => store.close()));
    expect(await written('busy')).toEqual([...orders].sort());
    const message = expect.stringMatching(/; its tables are of a newer release \(0009-next\), and take changes/);
    expect(await diagnosed(urlOf('busy'))).toEqual({ result: 'warned', message });
    await sql('busy', 'alter table faretrail.orders add column needed text, add check (needed is not null) not valid');
    expect(await diagnosed(urlOf('busy'))).toMatchObject({ result: 'failed' });
  });
});

describe.each(['transaction', 'session'] as const)('behind PgBouncer in %s mode', (mode) => {
  let pooler: PgBouncer | undefined;
  let missing = '';
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'faretrail-pgbouncer-'));
    const say = (line: string) => process.stderr.write(`PgBouncer: ${line}\n`);
    pooler = await startPgBouncer(folder, { postgres, mode }, say).catch((error: Error) => {
      missing = error.message;
      say(missing);
      return undefined;
    });
  }, 120_000); // it may have to be fetched
  afterAll(() => pooler?.stop());

  it('several workers make the tables and write, and leave nothing in its sessions', async ({ skip }) => {
    if (!pooler) return skip(missing);
    const database = `pooled_${mode}`;
    await sql('postgres', `create database ${database}`);
    const url = urlOf(database, new URL(pooler.url).host);
    const orders = ['1', '2', '3', '4', '5', '6'];
    // In session mode a worker keeps one of the few sessions, so they take turns.
    for (const some of mode === 'session' ? orders.map((one) => [one]) : [orders]) await write(url, some);
    expect(await written(database)).toEqual(orders);
    expect(await diagnosed(url)).toEqual(fine);
    const held = `select from pg_locks join pg_database d on d.oid = database where locktype = 'advisory' and datname = '${database}'`;
    expect(await sql('postgres', held)).toEqual([]);
    const other = new Client({ connectionString: url });
    await other.connect();
    const left = await other.query(`select current_setting('search_path'), current_setting('lock_timeout') as wait`);
    await other.end();
    expect(left.rows).toEqual([{ current_setting: '"$user", public', wait: '0' }]);
  });
});

it('a write that another one holds up ends with its caller, in the server too', async () => {
  await sql('postgres', 'create database held');
  await write(urlOf('held'), ['1']);
  const holder = new Client({ connectionString: urlOf('held') });
  await holder.connect();
  await holder.query(`begin; select pg_advisory_xact_lock(hashtext('faretrail.order_changes'))`);
  await expect(write(urlOf('held'), ['2'])).rejects.toThrow(/timeout/);
  const waits = `select from pg_stat_activity where datname = 'held' and wait_event_type = 'Lock'`;
  await expect.poll(() => sql('postgres', waits), { timeout: 3_000 }).toEqual([]);
  await holder.end();
  expect(await written('held')).toEqual(['1']);
});

describe('TLS', () => {
  const authority = createAuthority('of the store');
  const other = createAuthority('of others');
  const [clear, unchecked] = ['in clear', 'over TLS, and its certificate is not checked'];
  const byAuthority = 'over TLS, and the name in its certificate is not checked';

  beforeAll(async () => {
    await sql('postgres', 'create database tls');
    await write(urlOf('tls'));
    expect(await diagnosed(urlOf('tls')), 'before the server has any TLS').toEqual(fine);
    expect(await diagnosed(`${urlOf('tls')}?sslmode=require`)).toMatchObject({ result: 'failed' });
    const [{ data_directory: data } = {}] = await sql('postgres', 'show data_directory');
    const { uid, gid } = statSync(String(data));
    const { cert, key } = authority.server();
    for (const [file, name] of [
      [cert, 'server.crt'],
      [key, 'server.key'],
    ] as const) {
      copyFileSync(file, join(String(data), name));
      chownSync(join(String(data), name), uid, gid);
    }
    await sql('postgres', 'alter system set ssl = on');
    await sql('postgres', 'select pg_reload_conf()');
    await vi.waitFor(async () => expect(await sql('postgres', 'show ssl')).toEqual([{ ssl: 'on' }]));
  });

  it.each<[words: string, host: string, says: string | RegExp]>([
    ['', 'localhost', unchecked],
    ['sslmode=disable', 'localhost', clear],
    ['sslmode=allow', 'localhost', clear],
    ['sslmode=prefer', 'localhost', unchecked],
    ['sslmode=require', 'localhost', unchecked],
    ['ssl=true', 'localhost', unchecked],
    ['sslmode=require&sslrootcert=CA', '127.1', byAuthority],
    ['sslmode=require&sslrootcert=OTHER', 'localhost', /sslrootcert/],
    ['sslmode=verify-ca&sslrootcert=CA', '127.1', byAuthority],
    ['sslmode=verify-ca&sslrootcert=OTHER', 'localhost', /sslrootcert/],
    ['sslmode=verify-full&sslrootcert=CA', 'localhost', 'over TLS, and its certificate is checked'],
    ['sslmode=verify-full&sslrootcert=CA', '127.1', /ERR_TLS_CERT_ALTNAME_INVALID/],
    ['sslmode=verify-full', 'localhost', /sslrootcert/],
    ['sslrootcert=system', 'localhost', /sslrootcert/],
    ['sslmode=verify-full&sslrootcert=/nonexistent.pem', 'localhost', /nonexistent.pem.*ENOENT.*sslrootcert/],
  ])('"%s" at %s means what it means to psql, and the doctor says what it is', async (words, host, says) => {
    const query = words.replace('CA', authority.ca).replace('OTHER', other.ca);
    const url = `${urlOf('tls', `${host}:${postgres.port}`)}?${query}`;
    const { result, message } = await diagnosed(url);
    if (typeof says !== 'string')
      return expect({ result, message }).toMatchObject({ result: 'failed', message: expect.stringMatching(says) });
    expect(message).toContain(`takes changes, ${says}`);
    const store = openStore(url);
    await store.record(changeOf('7b21'));
    const used = `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'faretrail'`;
    await expect.poll(() => sql('postgres', used)).toEqual([{ ssl: says !== clear }]);
    await store.close();
  });
});
