import { DatabaseError, Pool, type QueryResult, type QueryResultRow } from 'pg';
import { toAccountName, toOrderId } from '../domain/keys.js';
import type { StoredChange } from '../domain/notify/notices.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { answerWithinMs, type FoundServer, findServer, schema } from './server.js';
import type { Way } from './tls.js';

/** The integrator's PostgreSQL, in which changes become rows. */
export type Store = ReturnType<typeof openStore>;

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

const recording = `select ${schema}.record_changes($1)`;

/** Changes in one transaction. */
const mostAtOnce = 200;

interface Waiting {
  change: StoredChange;
  resolve(): void;
  reject(error: unknown): void;
}

/** Makes or upgrades the tables at once, or before its first write: a store that is away holds nothing up. */
export function openStore(address: string, { connections = 1 }: { connections?: number } = {}) {
  const { open, query, close } = createConnections(address, connections);
  const recorder = createRecorder(query);

  async function rowsIn(text: string, { account, orderId }: FollowOrderKey): Promise<number> {
    const { rows } = await query<{ rows: string }>(text, [account, orderId]);
    return Number(rows[0]?.rows);
  }

  open().catch(() => undefined);
  return {
    /** Resolves when the change is committed, also if it was there already. Rejects within seconds when that is not known. */
    record: recorder.record,
    /** Makes or upgrades the tables, writes and erases as usual, and takes that back. Rejects as they would; tells what was found at the server. */
    async rehearse(): Promise<Pick<Way, 'said' | 'isSafe'> & Pick<FoundServer, 'newer'>> {
      const { pool, way, newer } = await open();
      const client = await pool.connect();
      try {
        await client.query('begin');
        await client.query(recording, [JSON.stringify(sample)]);
        await client.query(erasing, [sampleKey.account, sampleKey.orderId]);
        return { said: way.said, isSafe: way.isSafe, newer };
      } finally {
        await client.query('rollback').catch(() => undefined);
        client.release(true);
      }
    },
    /** The rows that a statement finds. Rejects within seconds when the store does not answer. */
    read: async <Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
      (await query<Row>(text, values)).rows,
    /** The rows about an order: its changes, its ride, receipts and attention. */
    countRows: (key: FollowOrderKey): Promise<number> => rowsIn(counting, key),
    /** Removes them, and the order. Returns how many there were. */
    erase: (key: FollowOrderKey): Promise<number> => rowsIn(erasing, key),
    async close(): Promise<void> {
      await recorder.done();
      await close();
    },
  };
}

type Query = <Row extends QueryResultRow>(text: string, values: unknown[]) => Promise<QueryResult<Row>>;

type Opened = FoundServer & { pool: Pool };

/** Connections to the server that is found there now. */
function createConnections(address: string, most: number) {
  let opened: Promise<Opened> | null = null;

  /** Once; after a failure, again with the next call. */
  const open = (): Promise<Opened> => {
    opened ??= connect(address, most).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };

  const query: Query = async (text, values) => {
    const used = open();
    const { pool } = await used;
    try {
      return await pool.query(text, values);
    } catch (error) {
      // What is there now may be another server, in another state.
      if (!isAboutData(error) && opened === used) {
        opened = null;
        pool.end().catch(() => undefined);
      }
      throw error;
    }
  };
  return {
    open,
    query,
    async close(): Promise<void> {
      const last = await opened?.catch(() => null);
      await last?.pool.end();
    },
  };
}

/** Records changes, those that come together in one transaction. */
function createRecorder(query: Query) {
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;

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
      await query(recording, [changes]);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One that can never be written must not hold up the others.
      if (isAboutData(error) && batch.length > 1) for (const one of batch) await write([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  return {
    record: (change: StoredChange): Promise<void> =>
      new Promise((resolve, reject) => {
        waiting.push({ change, resolve, reject });
        writing ??= writeAll();
      }),
    async done(): Promise<void> {
      await writing;
    },
  };
}

/** PostgreSQL keeps no U+0000 and no half of a surrogate pair, and the service may send any. */
const toStorable = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value;

/** SQLSTATE classes 22 and 23. */
const isAboutData = (error: unknown): boolean => error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');

async function connect(address: string, max: number): Promise<Opened> {
  const server = await findServer(address);
  const pool = new Pool({ ...server.connection, max, query_timeout: answerWithinMs });
  pool.on('error', () => undefined); // of an idle connection; the next write opens another one
  return { ...server, pool };
}

const sampleKey: FollowOrderKey = { account: toAccountName('faretrail'), orderId: toOrderId('rehearsal') };
const since = new Date(0).toISOString();
const concern = { attention: { code: 'latePickup', message: 'rehearsal', since } } as const;
const state = { status: 'Driving', rawStatus: 'Driving', since, terminal: false, outcome: null };
const ride = { requestId: 'rehearsal', stage: 'requesting', outcome: null, failure: null } as const;
const amounts = { currency: 'EUR', total: '1', net: '1', tax: '0' };
/** Touches every table. */
const sample: readonly StoredChange[] = [
  { type: 'order.changed', change: { ...sampleKey, ...state, ...concern } },
  { type: 'ride.changed', change: { ...sampleKey, ...ride, ...concern } },
  { type: 'ride.receipt', change: { ...sampleKey, ...amounts } },
].map((one, notice) => ({ run: 'rehearsal', notice, at: since, ...one }) as StoredChange);
