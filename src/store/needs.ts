import type { ClientBase } from 'pg';
import { FaretrailError } from '../domain/errors.js';

// What a database must have to be our store: one list, for the doctor and for each process that starts with a store.

/** What the server says of itself. */
export interface DatabaseFacts {
  /** `server_version_num`, such as 150008. */
  version: number;
  /** Of the texts in the database. */
  encoding: string;
}

interface Need {
  isMet(facts: DatabaseFacts): boolean;
  lack(facts: DatabaseFacts): string;
  remedy: string;
}

/** Nothing here passes by itself. A standby is not refused: it may take writes soon. */
const needs: readonly Need[] = [
  {
    isMet: ({ version }) => version >= 100_000, // the first with identity columns
    lack: ({ version }) => `PostgreSQL ${Math.floor(version / 10_000)} lacks what our tables need`,
    remedy: 'use PostgreSQL 10 or newer',
  },
  {
    isMet: ({ encoding }) => encoding === 'UTF8',
    lack: ({ encoding }) => `its encoding is ${encoding}, and only UTF8 holds every text of orders and callers`,
    remedy: `name a database of UTF8: create database NAME encoding 'UTF8' template template0`,
  },
];

/** This database can never be our store as it is. Not for a server that is away, or that takes no writes now. */
export class UnfitDatabase extends FaretrailError<'UnfitDatabase'> {
  override readonly name = 'UnfitDatabase';
  readonly lack: string;
  readonly remedy: string;

  constructor({ lack, remedy }: { lack: string; remedy: string }) {
    super('UnfitDatabase', `FARETRAIL_STORE_URL: ${lack}; ${remedy}`);
    this.lack = lack;
    this.remedy = remedy;
  }
}

const facts = `select current_setting('server_version_num')::integer as version,
  current_setting('server_encoding') as encoding`;

/** Throws `UnfitDatabase`. */
export async function demandNeeds(client: ClientBase): Promise<void> {
  const { rows } = await client.query<DatabaseFacts>(facts);
  for (const row of rows) judgeFacts(row);
}

/** Throws `UnfitDatabase`. */
export function judgeFacts(found: DatabaseFacts): void {
  const unmet = needs.find((need) => !need.isMet(found));
  if (unmet) throw new UnfitDatabase({ lack: unmet.lack(found), remedy: unmet.remedy });
}
