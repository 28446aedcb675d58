import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { DatabaseError, Pool, type QueryResult, type QueryResultRow } from 'pg';
import type { StoredChange } from '../domain/stored-change.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';

/** The integrator's PostgreSQL, in which changes become rows. */
export interface Store {
  /** Resolves when the change is committed, also if it was there already. Rejects within seconds when that is not known. */
  record(change: StoredChange): Promise<void>;
  /** Makes or upgrades the tables. Rejects within seconds when the store does not answer. */
  prepare(): Promise<void>;
  countChanges(key: FollowOrderKey): Promise<number>;
  /** Removes an order with its changes. Returns how many changes there were. */
  erase(key: FollowOrderKey): Promise<number>;
  close(): Promise<void>;
}

const schema = 'faretrail';
const ordersOf = `${schema}.orders where account = $1 and order_id = $2`;
const connectWithinMs = 2_000;
const answerWithinMs = 3_000;
/** Changes in one transaction. */
const mostAtOnce = 200;

interface Waiting {
  change: StoredChange;
  resolve(): void;
  reject(error: unknown): void;
}

/** Connects when the first change comes, and makes or upgrades the tables before it writes: a store that is away holds nothing up. */
export function openStore(connectionString: string): Store {
  const pool = new Pool({
    connectionString,
    max: 1,
    connectionTimeoutMillis: connectWithinMs,
    query_timeout: answerWithinMs,
    statement_timeout: answerWithinMs,
    application_name: 'faretrail',
  });
  pool.on('error', () => undefined); // of an idle connection; the next write opens another one
  let isMigrated = false;
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;

  async function prepare(): Promise<void> {
    if (!isMigrated) await migrate(connectionString);
    isMigrated = true;
  }

  async function query<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<Row>> {
    await prepare();
    const client = await pool.connect();
    let failure: Error | undefined;
    try {
      return await client.query<Row>(text, values);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    } finally {
      client.release(failure); // a connection that did not answer is no longer of use
    }
  }

  async function changesIn(text: string, { account, orderId }: FollowOrderKey): Promise<number> {
    const { rows } = await query<{ changes: number }>(text, [account, orderId]);
    return rows[0]?.changes ?? 0;
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
      await query(`select ${schema}.record_order_changes($1)`, [changes]);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One that can never be written must not hold up the others.
      if (isAboutData(error) && batch.length > 1) for (const one of batch) await write([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  return {
    record: (change) =>
      new Promise((resolve, reject) => {
        waiting.push({ change, resolve, reject });
        writing ??= writeAll();
      }),
    prepare,
    countChanges: (key) => changesIn(`select changes from ${ordersOf}`, key),
    erase: (key) => changesIn(`delete from ${ordersOf} returning changes`, key),
    async close() {
      await writing;
      await pool.end();
    },
  };
}

/** PostgreSQL keeps no U+0000 and no half of a surrogate pair, and the service may send any. */
const toStorable = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value;

/** SQLSTATE classes 22 and 23. */
const isAboutData = (error: unknown): boolean => error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');

const migrate = async (connectionString: string): Promise<void> => {
  await runner({
    databaseUrl: { connectionString, connectionTimeoutMillis: connectWithinMs },
    dir: fileURLToPath(new URL('migrations', import.meta.url)),
    ignorePattern: '.*\\.(d\\.ts|map)$',
    direction: 'up',
    ...{ schema, createSchema: true, migrationsSchema: schema, migrationsTable: 'migrations' },
    advisoryLockMode: 'wait',
    log: () => undefined,
  });
};
