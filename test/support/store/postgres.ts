import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
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
}

export function usePostgres(): TestPostgres {
  const postgres = {} as TestPostgres;
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'faretrail-postgres-'));
    const server = await startPostgres(folder, (line) => process.stderr.write(`postgres: ${line}\n`));
    Object.assign(postgres, server, {
      async rows(query: string, values?: unknown[]) {
        const client = new Client({ connectionString: server.url });
        await client.connect();
        try {
          return (await client.query(query, values)).rows;
        } finally {
          await client.end();
        }
      },
    });
  }, 60_000); // a new cluster on a busy machine
  afterAll(async () => {
    await postgres.stop?.();
    await rm(folder, { recursive: true, force: true });
  });
  return postgres;
}
