import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { checkStore } from '../../src/cli/doctor.js';
import { createReads } from '../../src/desk/reads.js';
import { toOrderId } from '../../src/domain/keys.js';
import type { StoredChange } from '../../src/domain/notify/notices.js';
import { openStore } from '../../src/store/store.js';
import { isLong } from '../support/long.js';
import { account, usePostgres } from '../support/store/postgres.js';

// Databases as other people set them up: refused at the start, or every change becomes a row, in order, once.

const postgres = usePostgres();

const changes = isLong ? 12_000 : 1_200;
const statuses = ['Pending', 'Routing', 'Łódź', 'Водитель', '司机', 'Completed'];

/** All changes: those of an order in their order, several orders at a time. */
const changeOf = (n: number): StoredChange => {
  const [order, notice] = [Math.floor(n / statuses.length), n % statuses.length];
  const at = new Date(Date.UTC(2031, 11, 24, 0, 0, n)).toISOString();
  const word = statuses[notice] ?? '';
  const state = { status: 'other' as const, rawStatus: word, since: at, terminal: false, outcome: null };
  const attention = notice === 2 ? { code: 'latePickup' as const, message: `spóźniony ${n}`, since: at } : null;
  const change = { account, orderId: toOrderId(`order-${order}`), reference: `PO Łódź ${order}`, ...state, attention };
  return { run: `run-${order}`, notice, at, type: 'order.changed', change } as StoredChange;
};

/** Functions and operators that another user puts before ours; what they do shows who has called them. */
const shadows = (schema: string): string => {
  const functions = `nextval(text) bigint, nextval(anyelement) bigint, setval(regclass, bigint) bigint, hashtext(varchar) integer,
    hashtext(text) integer, pg_advisory_xact_lock(integer) bigint, jsonb_array_elements(jsonb) jsonb, clock_timestamp() timestamptz,
    current_setting(text) text, count(text) bigint, lower(text) text, lower(varchar) text, said_by(anyelement) text[]`;
  const operators = `= text text, = anyelement anyelement, < timestamptz timestamptz, > bigint integer, >= timestamptz timestamptz,
    || text text, ->> jsonb text, -> jsonb text`;
  const body = `language plpgsql as $f$ begin insert into public.called values (current_query()); return null; end $f$`;
  const made = functions.split(/,\s+(?=\w+\()/).map((one) => {
    const [, signature, result] = /^(.*\)) (.*)$/.exec(one) ?? [];
    return `create function ${schema}.${signature} returns ${result} ${body};`;
  });
  const makeOperator = (one: string, n: number) => {
    const [sign, left, right] = one.split(' ');
    const result = sign === '->' ? 'jsonb' : sign === '||' || sign === '->>' ? 'text' : 'boolean';
    return `create function ${schema}.operator_${n}(${left}, ${right}) returns ${result} ${body};
      create operator ${schema}.${sign} (leftarg = ${left}, rightarg = ${right}, function = ${schema}.operator_${n});`;
  };
  return [...made, ...operators.split(/,\s+/).map(makeOperator)].join('\n');
};

/** What a database of other people is like. */
const conditions = {
  moved: (name: string) => `do $$ begin
    if to_regclass('faretrail.positions') is not null then
      alter sequence faretrail.positions restart; alter sequence faretrail.order_changes_position_seq restart;
    end if; end $$; select '${name}'`,
  'of DateStyle German': (name: string) => `alter database ${name} set datestyle = 'German, DMY';
    alter database ${name} set timezone = 'Asia/Kolkata'; alter database ${name} set intervalstyle = 'sql_standard'`,
  'serializable by default': (name: string) =>
    `alter database ${name} set default_transaction_isolation = serializable`,
  'of a hostile search_path': (name: string) => `alter database ${name} set search_path = evil, public, pg_catalog;
    create schema evil; create table evil.called (); set search_path = pg_catalog; ${shadows('evil')}`,
  'with another user, who may create in public': (name: string) =>
    `grant create on schema public to mallory; set role mallory; set search_path = pg_catalog; ${shadows('public')}; select '${name}'`,
  'of other habits': (name: string) => `alter database ${name} set standard_conforming_strings = off;
    alter database ${name} set bytea_output = escape; alter database ${name} set lock_timeout = '1ms';
    alter database ${name} set client_encoding = 'LATIN1'; alter database ${name} set synchronous_commit = off`,
} as const;
type Condition = keyof typeof conditions;
const all = Object.keys(conditions) as Condition[];

const pairs = all.flatMap((one, n) => all.slice(n + 1).map((other) => [one, other]));
/** Each condition, and all at once; each two of them in the long variant. */
const sets: Condition[][] = [[], ...all.map((one) => [one]), ...(isLong ? pairs : []), all];

beforeAll(() => postgres.sql('postgres', 'create role mallory'));

let databases = 0;
/** A database with these conditions, in which a tenth of the changes were recorded before it was moved. */
async function database(encoding: string, set: readonly Condition[]): Promise<{ name: string; before: number }> {
  databases += 1;
  const name = `foreign_${databases}`;
  await postgres.sql(
    'postgres',
    `create database ${name} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
  );
  await postgres.sql(name, 'create table public.called (query text); grant insert on public.called to public');
  const before = set.includes('moved') ? changes / 10 : 0;
  if (before > 0) await recordAll(name, 0, before);
  for (const one of set) await postgres.sql(name, conditions[one](name));
  return { name, before };
}

/** Two workers record the changes from `from` on: those of an order one after the other, some of them again. */
async function recordAll(name: string, from: number, to: number): Promise<void> {
  const stores = [openStore(postgres.urlOf(name)), openStore(postgres.urlOf(name))] as const;
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) {
      const first = next;
      next += statuses.length;
      const store = stores[(first / statuses.length) % 2 ? 1 : 0];
      for (let n = first; n < first + statuses.length; n += 1) {
        await store.record(changeOf(n));
        if (n % 7 === 0) await store.record(changeOf(n));
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: 100 }, lane));
  } finally {
    for (const store of stores) await store.close();
  }
}

/** A program that reads rows after its mark while they are written. */
function followRows(name: string) {
  const seen: { position: bigint; said: string }[] = [];
  const read = async (): Promise<void> => {
    const mark = seen.at(-1)?.position ?? 0n;
    const rows = await postgres.sql(
      name,
      `set search_path = pg_catalog; set datestyle = 'ISO'; select position::text, id || ' ' || raw_status as said
        from faretrail.order_changes where position > ${mark} order by order_changes.position`,
    );
    seen.push(...rows.map(({ position, said }) => ({ position: BigInt(String(position)), said: String(said) })));
  };
  return { seen, read };
}

describe.each(sets.map((set) => [set.join(', ') || 'as it should be', set] as const))('a database %s', (_, set) => {
  it('gets every change, in order, once, and readers see each', async () => {
    const { name, before } = await database('UTF8', set);
    const reader = followRows(name);
    if (before > 0) await reader.read();
    const writing = recordAll(name, before, changes);
    let isOver = false;
    writing.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    while (!isOver && before > 0) await reader.read();
    await writing;
    await reader.read();
    const orders = Array.from({ length: changes / statuses.length }, (__, order) => `run-${order}`);
    const rowsOf = new Map(orders.map((run) => [run, [] as string[]]));
    for (const { said } of reader.seen) rowsOf.get(said.split('_')[0] ?? '')?.push(said);
    for (const run of orders) expect(rowsOf.get(run)).toEqual(statuses.map((word, n) => `${run}_${n} ${word}`));
    expect(reader.seen).toHaveLength(changes);
    expect(await postgres.sql(name, 'select * from public.called')).toEqual([]);
  });

  it('is read by the desk, times included, and the doctor agrees', async () => {
    const { name } = await database('UTF8', set);
    const store = openStore(postgres.urlOf(name));
    expect(await store.trouble()).toBeNull();
    const numbers = [0, 1, 2].map((n) => changes + n); // of one more order
    for (const n of numbers) await store.record(changeOf(n));
    const found = await createReads(store).order(account, `order-${changes / statuses.length}`);
    expect(found).toMatchObject({
      order: { reference: expect.stringContaining('Łódź'), raw_status: 'Łódź', changes: 3 },
      changes: numbers.reverse().map((n) => ({ raw_status: statuses[n - changes], at: new Date(changeOf(n).at) })),
    });
    await store.close();
    expect(await checkStore(postgres.urlOf(name))).toMatchObject({ result: 'ok' });
    expect(await postgres.sql(name, 'select * from public.called')).toEqual([]);
  });
});

describe.each(['LATIN1', 'SQL_ASCII'])('a database of encoding %s', (encoding) => {
  it.each([
    ['', []],
    [', with all the rest', all.filter((one) => one !== 'moved')],
  ] as const)('is refused by name, with the remedy%s', async (_, set) => {
    const { name } = await database(encoding, set);
    const store = openStore(postgres.urlOf(name));
    const refusal = {
      code: 'UnfitDatabase',
      message: expect.stringMatching(`^FARETRAIL_STORE_URL: .*${encoding}.*UTF8`),
    };
    await expect(store.trouble()).rejects.toMatchObject(refusal);
    await expect(store.record(changeOf(0))).rejects.toMatchObject(refusal);
    await store.close();
    const message = expect.stringMatching(`encoding is ${encoding}.*; name a database of UTF8: create database`);
    expect(await checkStore(postgres.urlOf(name))).toMatchObject({ result: 'failed', message });
    expect(await postgres.sql(name, `select from pg_namespace where nspname = 'faretrail'`), 'untouched').toEqual([]);
  });
});

it('the doctor names positions that begin again, and those of a role that may not move them on', async () => {
  const { name } = await database('UTF8', ['moved']);
  await postgres.sql(
    name,
    `create role moved_writer login password 'a-secret'; grant usage on schema faretrail to moved_writer;
      grant select, insert, update, delete on all tables in schema faretrail to moved_writer;
      grant usage on all sequences in schema faretrail to moved_writer`,
  );
  const ofWriter = `postgresql://moved_writer:a-secret@127.0.0.1:${postgres.port}/${name}`;
  const denied = expect.stringMatching(/permission denied for sequence .* \(42501\); .*update/);
  expect(await checkStore(ofWriter)).toMatchObject({ result: 'failed', message: denied });
  const named = expect.stringMatching(
    /positions had begun again.*\(faretrail.order_changes_position_seq, faretrail.positions\)/,
  );
  expect(await checkStore(postgres.urlOf(name))).toMatchObject({ result: 'warned', message: named });
  expect(await checkStore(ofWriter)).toMatchObject({ result: 'ok' });
});

it('tables that an earlier release made call nothing of another user any more', async () => {
  const { name } = await database('UTF8', ['with another user, who may create in public']);
  const files = ['0001-tables', '0002-recording', '0003-lock-timeout', '0004-desk', '0005-prices'];
  const texts = files.map((file) => readFileSync(join(projectRoot, `src/store/migrations/${file}.sql`), 'utf8'));
  await postgres.sql(
    name,
    `create schema faretrail; create table faretrail.migrations (id serial, name text, run_on timestamp not null);
    ${texts.join('\n')}; insert into faretrail.migrations (name, run_on) select unnest('{${files}}'::text[]), now()`,
  );
  const record = `select faretrail.record_changes('${JSON.stringify([rideOf('ride-1')])}')`;
  await expect(postgres.sql(name, record), 'as it was: a function of mallory gives the position').rejects.toThrow(
    /null/,
  );
  const store = openStore(postgres.urlOf(name));
  await store.record(rideOf('ride-2'));
  await store.close();
  await postgres.sql(name, record);
  expect(await postgres.sql(name, 'select * from public.called')).toEqual([]);
  expect(await postgres.sql(name, 'select request_id from faretrail.rides order by position')).toMatchObject([
    { request_id: 'ride-2' },
    { request_id: 'ride-1' },
  ]);
});

const rideOf = (requestId: string): StoredChange => ({
  ...{ run: requestId, notice: 1, at: new Date(0).toISOString(), type: 'ride.changed' },
  change: {
    account,
    requestId,
    orderId: null,
    stage: 'requesting',
    outcome: null,
    failure: null,
    attention: null,
  } as never,
});
