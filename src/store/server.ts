import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { demandNeeds } from './needs.js';
import { answerWithinMs, beginning } from './session.js';
import { type Way, waysTo } from './tls.js';

// The server that the address names: a connection to it, and our tables there. Nothing here outlives a transaction, since the connection may be
// that of a pooler which gives each transaction another session.

/** The schema of our tables. */
export const schema = 'faretrail';

/** Earlier releases migrate with node-pg-migrate, and hold this lock for a session. */
const migrationsLock = '7241865325823964';
/** The functions that write changes take it. */
const writersLock = `hashtext('${schema}.order_changes')`;
const connectWithinMs = 2_000;
/** A large table may take longer to upgrade than a write may take. Another process may hold the lock for ever. */
const lockWithinMs = 10_000;

/** How the server was reached, and what is there. */
export interface FoundServer {
  way: Way;
  /** For further connections. */
  connection: ClientConfig;
  /** Migrations of a later release. */
  newer: readonly string[];
}

const ownMigrations = fileURLToPath(new URL('migrations', import.meta.url));

/** Connects, and makes or upgrades the tables where a migration of the folder is missing. Throws `UnfitDatabase`. */
export async function findServer(address: string, folder = ownMigrations): Promise<FoundServer> {
  const { client, ...found } = await connect(address);
  const own = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  const done = await look(client).finally(() => client.end()); // a pooler may have one session for us all
  if (!own.every((file) => done.includes(nameOf(file)))) await migrate(newClient(found.connection), folder, own.sort());
  return { ...found, newer: done.filter((name) => !own.map(nameOf).includes(name)) };
}

const nameOf = (file: string): string => file.replace(/\.sql$/, '');

function newClient(config: ClientConfig): Client {
  const client = new Client({ ...config, keepAlive: true });
  client.on('error', () => undefined); // what runs on it fails, too
  return client;
}

/** Tries each way, as libpq does. */
async function connect(address: string): Promise<Pick<FoundServer, 'way' | 'connection'> & { client: Client }> {
  let failure: unknown;
  for (const way of waysTo(address)) {
    const { address: connectionString } = way;
    const connection = { connectionString, connectionTimeoutMillis: connectWithinMs, application_name: schema };
    const client = newClient({ ...connection, query_timeout: answerWithinMs });
    try {
      await client.connect();
      return { client, way, connection };
    } catch (error) {
      failure = failure instanceof DatabaseError ? failure : error; // what the server says tells more
      client.end().catch(() => undefined);
    }
  }
  throw failure;
}

/** The migrations that are done in a database that can be our store. */
async function look(client: Client): Promise<string[]> {
  await client.query(beginning());
  await demandNeeds(client);
  return await migrationsDone(client);
}

async function migrationsDone(client: Client): Promise<string[]> {
  try {
    const { rows } = await client.query<{ name: string }>(`select name from ${schema}.migrations`);
    return rows.map(({ name }) => name);
  } catch (error) {
    if (error instanceof DatabaseError && error.code === '42P01') return []; // there is no such table yet
    throw error;
  }
}

/**
 * All in one transaction, under the lock of all releases. No writer is under way then: it could wait for us, and we for it. Earlier releases
 * demand that the rows are in order by their time and number.
 */
async function migrate(client: Client, folder: string, files: readonly string[]): Promise<void> {
  try {
    await client.connect();
    await client.query(beginning({ statementMs: 0, lockMs: lockWithinMs }));
    await client.query(`select pg_advisory_xact_lock(${migrationsLock})`);
    await client.query(`select pg_advisory_xact_lock(${writersLock})`);
    // A role that only owns the schema may not even say "if not exists".
    const { rowCount } = await client.query(`select from pg_namespace where nspname = '${schema}'`);
    if (rowCount === 0) await client.query(`create schema ${schema}`);
    await client.query(`create table if not exists ${schema}.migrations
      (id serial primary key, name varchar(255) not null, run_on timestamp not null)`);
    const done = await migrationsDone(client);
    for (const file of files.filter((one) => !done.includes(nameOf(one)))) {
      await client.query(readFileSync(join(folder, file), 'utf8'));
      const latest = `greatest(clock_timestamp()::timestamp, max(run_on)) from ${schema}.migrations`;
      await client.query(`insert into ${schema}.migrations (name, run_on) select $1, ${latest}`, [nameOf(file)]);
    }
    await client.query('commit');
  } finally {
    await client.end(); // rolls back what is not committed
  }
}
