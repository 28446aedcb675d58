import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startPostgres } from '../../stack/postgres/postgres.js';
import type { FaultKind } from './plan.js';

/** A change of an order in the store. */
export interface StoredRow {
  account: string;
  orderId: string;
  change: number;
  type: string;
  /** When the run knew it. */
  at: Date;
  status: string | null;
  rawStatus: string | null;
  outcome: string | null;
  attention: string | null;
}

/** A ride in the store. */
export interface StoredRide {
  requestId: string;
  orderId: string | null;
  ended: boolean;
  outcome: string | null;
  failure: string | null;
  attention: string | null;
}

/** A receipt in the store. */
export interface StoredReceipt {
  orderId: string;
  version: number;
  total: string | null;
}

/** For how long an order or a ride waited for a person. */
export interface StoredPeriod {
  kind: 'order' | 'ride';
  account: string;
  id: string;
  code: string;
  isOver: boolean;
}

/** All that a store holds: changes in the order of their positions, receipts in that of their versions, the rest in that of time. */
export interface Stored {
  changes: StoredRow[];
  rides: StoredRide[];
  receipts: StoredReceipt[];
  attention: StoredPeriod[];
}

const queries: Record<keyof Stored, string> = {
  changes: `select account, order_id as "orderId", change, type, at, status, raw_status as "rawStatus", outcome, attention
    from faretrail.order_changes order by position`,
  rides: `select request_id as "requestId", order_id as "orderId", ended, outcome, failure, attention from faretrail.rides`,
  receipts: 'select order_id as "orderId", version, total from faretrail.receipts order by version',
  attention: `select kind, account, id, code, cleared_at is not null as "isOver" from faretrail.attention
    order by since, cleared_at`,
};

/** The store of a deployment. */
export interface StoreSite {
  url: string;
  password: string;
  fail(kind: FaultKind, lastsMs: number): Promise<void>;
  read(): Promise<Stored>;
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
    async read() {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      const stored: Partial<Record<string, unknown[]>> = {};
      for (const [name, query] of Object.entries(queries)) stored[name] = (await client.query(query)).rows;
      await client.end();
      return stored as unknown as Stored;
    },
    async close() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
