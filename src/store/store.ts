import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { Client, DatabaseError, Pool, type QueryResult, type QueryResultRow } from 'pg';
import type { StoredChange } from '../domain/notify/notices.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';

/** The integrator's PostgreSQL, in which changes become rows. */
export type Store = ReturnType<typeof openStore>;

const schema = 'faretrail';

/** The tables with rows about an order, and which rows these are. */
const ofOrder = 'account = $1 and order_id = $2';
const rides = `${schema}.rides where ${ofOrder}`;
const attention = `${schema}.attention where account = $1 and (kind = 'order' and id = $2
  or kind = 'ride' and id in (select request_id from ${rides}))`;
const receipts = `${schema}.receipts where ${ofOrder}`;
const counting = `select ${[`${schema}.order_changes where ${ofOrder}`, rides, receipts, attention]
  .map((rows) => `(select count(*) from ${rows})`)
  .join(' + ')} as rows`;
/** All parts of a statement see what was there before it, so it counts what it removes. */
const erasing = `with ${[`${schema}.orders where ${ofOrder}`, rides, receipts, attention]
  .map((rows, n) => `removed_${n} as (delete from ${rows})`)
  .join(', ')} ${counting}`;

const connectWithinMs = 2_000;
const answerWithinMs = 3_000;
/** Changes in one transaction. */
const mostAtOnce = 200;

interface Waiting {
  change: StoredChange;
  resolve(): void;
  reject(error: unknown): void;
}

/** Makes or upgrades the tables at once, or before its first write: a store that is away holds nothing up. */
export function openStore(connectionString: string) {
  const pool = new Pool({
    connectionString,
    max: 1,
    connectionTimeoutMillis: connectWithinMs,
    query_timeout: answerWithinMs,
    statement_timeout: answerWithinMs,
    application_name: 'faretrail',
  });
  pool.on('error', () => undefined); // of an idle connection; the next write opens another one
  const prepare = untilDone(() => migrate(connectionString));
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;

  async function query<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<Row>> {
    await prepare();
    return await pool.query<Row>(text, values); // after a failure the pool opens another connection
  }

  async function rowsIn(text: string, { account, orderId }: FollowOrderKey): Promise<number> {
    const { rows } = await query<{ rows: string }>(text, [account, orderId]);
    return Number(rows[0]?.rows);
  }

  /** One transaction at a time; what comes meanwhile goes into the next. */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, mostAtOnce);
      waiting = waiting.slice(mostAtOnce);
      await write(batch);
    }
    writing = null;
  }

  async function write(batch: readonly Waiting[]): Promise<void> {
    const changes = JSON.stringify(
      batch.map(({ change }) => change),
      toStorable,
    );
    try {
      await query(`select ${schema}.record_changes($1)`, [changes]);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One that can never be written must not hold up the others.
      if (isAboutData(error) && batch.length > 1) for (const one of batch) await write([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  prepare().catch(() => undefined);
  return {
    /** Resolves when the change is committed, also if it was there already. Rejects within seconds when that is not known. */
    record: (change: StoredChange): Promise<void> =>
      new Promise((resolve, reject) => {
        waiting.push({ change, resolve, reject });
        writing ??= writeAll();
      }),
    /** Makes or upgrades the tables. Rejects within seconds when the store does not answer. */
    prepare,
    /** The rows about an order: its changes, its ride, receipts and attention. */
    countRows: (key: FollowOrderKey): Promise<number> => rowsIn(counting, key),
    /** Removes them, and the order. Returns how many there were. */
    erase: (key: FollowOrderKey): Promise<number> => rowsIn(erasing, key),
    async close(): Promise<void> {
      await writing;
      await pool.end();
    },
  };
}

/** Acts once; after a failure, again with the next call. */
function untilDone(act: () => Promise<void>): () => Promise<void> {
  let doing: Promise<void> | null = null;
  return () => {
    doing ??= act().catch((error: unknown) => {
      doing = null;
      throw error;
    });
    return doing;
  };
}

/** PostgreSQL keeps no U+0000 and no half of a surrogate pair, and the service may send any. */
const toStorable = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value;

/** SQLSTATE classes 22 and 23. */
const isAboutData = (error: unknown): boolean => error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');

/** On a connection of its own, since a large table may take longer to upgrade than a write may take. */
async function migrate(connectionString: string): Promise<void> {
  const dbClient = new Client({ connectionString, connectionTimeoutMillis: connectWithinMs, keepAlive: true });
  dbClient.on('error', () => undefined); // what runs on it fails, too
  try {
    await dbClient.connect();
    await runner({
      dbClient,
      dir: fileURLToPath(new URL('migrations', import.meta.url)),
      direction: 'up',
      ...{ schema, createSchema: true, migrationsSchema: schema, migrationsTable: 'migrations' },
      advisoryLockMode: 'wait',
      log: () => undefined,
    });
  } finally {
    await dbClient.end();
  }
}
