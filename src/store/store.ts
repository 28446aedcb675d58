import { DatabaseError, Pool, type QueryResult, type QueryResultRow } from 'pg';
import { FaretrailError } from '../domain/errors.js';
import { spellingsOf, toAccountName, toOrderId } from '../domain/keys.js';
import { type StoredChange, storeRefuses } from '../domain/notify/notices.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { awayText } from './faults.js';
import { type FoundServer, findServer, schema } from './server.js';
import { answerWithinMs, beginning, inTransaction } from './session.js';
import type { Way } from './tls.js';

/** The integrator's PostgreSQL, in which changes become rows. */
export type Store = ReturnType<typeof openStore>;

/** The tables with rows about an order, and which rows these are. */
const ofOrder = 'account = $1 and order_id = any($2)';
const rides = `${schema}.rides where ${ofOrder}`;
const attention = `${schema}.attention where account = $1 and (kind = 'order' and id = any($2)
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

const findingSequences = `select sequence::text from ${schema}.positions_behind()`;

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
    const { rows } = await query<{ rows: string }>({ text, values: [account, spellingsOf(orderId)] });
    return Number(rows[0]?.rows);
  }

  open().catch(() => undefined);
  return {
    /** For the start of a process: one line about a store that is away, which may pass. Rejects with `UnfitDatabase`. */
    trouble: (): Promise<string | null> => open().then(() => null, awayText),
    /** Resolves when the change is committed, also if it was there already. Rejects within seconds when that is not known, and with
     *  `ChangeRefused` for one that is never written. */
    record: recorder.record,
    /** Makes or upgrades the tables, writes and erases as usual, and takes that back. Rejects as they would; tells what was found at the server. */
    async rehearse(): Promise<Rehearsal> {
      const { pool, way, newer } = await open();
      const client = await pool.connect();
      try {
        await client.query(beginning());
        const behind = await client.query<{ sequence: string }>(findingSequences);
        await client.query(recording, [JSON.stringify(sample)]);
        await client.query(erasing, [sampleKey.account, spellingsOf(sampleKey.orderId)]);
        return { said: way.said, isSafe: way.isSafe, newer, behind: behind.rows.map(({ sequence }) => sequence) };
      } finally {
        await client.query('rollback').catch(() => undefined);
        client.release(true);
      }
    },
    /** The rows that a statement finds. Rejects within seconds when the store does not answer, or has not found them all. */
    read: async <Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
      (await query<Row>({ text, values, isReadOnly: true })).rows,
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

/** What was found at the server, and the sequences that were behind the positions in use. */
export interface Rehearsal extends Pick<Way, 'said' | 'isSafe'>, Pick<FoundServer, 'newer'> {
  behind: readonly string[];
}

/** The store takes this change never, for what it holds, and others as before: a row or a table there has a rule of its own. */
export class ChangeRefused extends FaretrailError<typeof storeRefuses> {
  override readonly name = 'ChangeRefused';

  constructor(cause: DatabaseError) {
    super(storeRefuses, `The store refuses the change for what it holds (SQLSTATE ${cause.code}).`, { cause });
  }
}

interface Statement {
  text: string;
  values: unknown[];
  isReadOnly?: boolean;
}

type Query = <Row extends QueryResultRow>(statement: Statement) => Promise<QueryResult<Row>>;

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

  const query: Query = async ({ text, values, isReadOnly = false }) => {
    const used = open();
    const { pool } = await used;
    try {
      return await inTransaction(pool, (client) => client.query(text, values), { isReadOnly });
    } catch (error) {
      // What is there now may be another server, in another state.
      if (!isAboutStatement(error) && opened === used) {
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
      await query({ text: recording, values: [changes] });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One that can never be written must not hold up the others.
      if (isAboutData(error) && batch.length > 1) for (const one of batch) await write([one]);
      else for (const { reject } of batch) reject(isAboutData(error) ? new ChangeRefused(error) : error);
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

const hasState = (error: unknown, states: RegExp): error is DatabaseError =>
  error instanceof DatabaseError && states.test(error.code ?? '');

/** SQLSTATE classes 22 and 23. */
const isAboutData = (error: unknown): error is DatabaseError => hasState(error, /^2[23]/);

/** The same, or it took too long, or met others: the server is well. */
const isAboutStatement = (error: unknown): boolean => hasState(error, /^(2[23]|40|55P03$|57014$)/);

async function connect(address: string, max: number): Promise<Opened> {
  const server = await findServer(address);
  const pool = new Pool({ ...server.connection, max, query_timeout: answerWithinMs });
  pool.on('error', () => undefined); // of an idle connection; the next write opens another one
  pool.on('connect', (client) => client.on('error', () => undefined)); // what runs on it fails, too
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
