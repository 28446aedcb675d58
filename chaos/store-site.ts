import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startPostgres } from '../local/postgres/postgres.js';
import type { FaultKind } from './plan.js';

/** A row of the store. */
export interface StoredRow {
  account: string;
  orderId: string;
  change: number;
  status: string | null;
  rawStatus: string | null;
  outcome: string | null;
  attention: string | null;
}

/** The store of a deployment. */
export interface StoreSite {
  url: string;
  password: string;
  fail(kind: FaultKind, lastsMs: number): Promise<void>;
  /** All rows, in the order of their positions. */
  rows(): Promise<StoredRow[]>;
  close(): Promise<void>;
}

/** Starts it. Its data is in a folder that the user of PostgreSQL can reach. */
export async function openStoreSite(): Promise<StoreSite> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-chaos-store-'));
  const server = await startPostgres(folder);
  return {
    url: server.url,
    password: server.password,
    async fail(kind, lastsMs) {
      const [begin, end] =
        kind === 'pause'
          ? [async () => server.pause(), async () => server.resume()]
          : [() => server.stop(), () => server.start()];
      await begin();
      await sleep(lastsMs);
      await end();
    },
    async rows() {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      const { rows } = await client.query<StoredRow>(`
        select account, order_id as "orderId", change, status, raw_status as "rawStatus", outcome, attention
        from faretrail.order_changes order by position`);
      await client.end();
      return rows;
    },
    async close() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
