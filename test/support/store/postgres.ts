import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type QueryResult } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type Postgres, startPostgres } from '../../../dev/stack/postgres/postgres.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { StoredChange } from '../../../src/domain/notify/notices.js';

export const account = toAccountName('business');
const at = new Date().toISOString();
const state = { status: 'Driving', rawStatus: 'Driving', since: at, terminal: false, outcome: null, attention: null };
/** A change of an order. */
export const changeOf = (orderId: string): StoredChange => ({
  ...{ run: orderId, notice: 1, at, type: 'order.changed' },
  change: { account, orderId: toOrderId(orderId), ...state },
});

/** A PostgreSQL server for the tests of a file. */
export interface TestPostgres extends Postgres {
  rows<T extends object = Record<string, unknown>>(query: string, values?: unknown[]): Promise<T[]>;
  /** The address of a database on it, or at another `host:port`. */
  urlOf(database: string, host?: string): string;
  /** The rows of the last of the statements in a database on it. */
  sql(database: string, text: string): Promise<Record<string, unknown>[]>;
}

async function ask(connectionString: string, text: string, values?: unknown[]) {
  const client = new Client({ connectionString });
  await client.connect();
  const answers: QueryResult | QueryResult[] = await client.query(text, values).finally(() => client.end());
  return (Array.isArray(answers) ? answers.at(-1) : answers)?.rows ?? [];
}

export function usePostgres(): TestPostgres {
  const postgres = {} as TestPostgres;
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'faretrail-postgres-'));
    const server = await startPostgres(folder, (line) => process.stderr.write(`postgres: ${line}\n`));
    const urlOf = (database: string, host = `127.0.0.1:${server.port}`): string =>
      `postgresql://${server.user}:${server.password}@${host}/${database}`;
    Object.assign(postgres, server, {
      rows: (query: string, values?: unknown[]) => ask(server.url, query, values),
      urlOf,
      sql: (database: string, text: string) => ask(urlOf(database), text),
    });
  }, 60_000); // a new cluster on a busy machine
  afterAll(async () => {
    await postgres.stop?.();
    await rm(folder, { recursive: true, force: true });
  });
  return postgres;
}
