import { type ClientBase, DatabaseError, type Pool } from 'pg';

/** How long an answer may take. */
export const answerWithinMs = 3_000;
/** The server ends a slow statement first: the connection then goes on, and nobody waits for the others. */
const statementWithinMs = 2_500;

/**
 * Begins a transaction with what our statements rely on, whatever the settings of the database and of the role are. A session is no place for
 * it: behind a pooler the next transaction may get another one, and others may get ours. Who may write is theirs to say: read-only stays so.
 */
export function beginning({ statementMs = statementWithinMs, lockMs = answerWithinMs, isReadOnly = false } = {}) {
  const settings = {
    search_path: 'pg_catalog, pg_temp',
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    client_encoding: "'UTF8'",
    standard_conforming_strings: 'on',
    datestyle: "'ISO, YMD'",
    intervalstyle: "'postgres'",
    timezone: "'UTC'",
    bytea_output: "'hex'",
  };
  const mode = `isolation level read committed${isReadOnly ? ', read only' : ''}`;
  const set = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`);
  return [`begin ${mode}`, ...set].join('; ');
}

type Options = Parameters<typeof beginning>[0];

/** What `act` does is one transaction on a connection of the pool. */
export async function inTransaction<T>(
  pool: Pool,
  act: (client: ClientBase) => Promise<T>,
  options?: Options,
): Promise<T> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    await client.query(beginning(options));
    const result = await act(client);
    await client.query('commit');
    isUsable = true;
    return result;
  } catch (error) {
    if (error instanceof DatabaseError) {
      await client.query('rollback').then(
        () => (isUsable = true),
        () => undefined,
      );
    }
    throw error;
  } finally {
    client.release(!isUsable);
  }
}
