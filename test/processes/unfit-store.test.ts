import { expect, it } from 'vitest';
import { nodeArgs } from '../../dev/stack/run/node-args.js';
import { workerEnv } from '../support/accounts.js';
import { usePostgres } from '../support/store/postgres.js';
import { runProgram } from '../support/worker/process.js';

const postgres = usePostgres();

it.each(['worker', 'desk'] as const)('a %s refuses a database that cannot hold all texts', async (name) => {
  const database = `of_${name}`;
  const form = `encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`;
  await postgres.sql('postgres', `create database ${database} ${form}`);
  const env = workerEnv('http://127.0.0.1:9', {
    TEMPORAL_ADDRESS: '127.0.0.1:9', // the database is judged first
    FARETRAIL_STORE_URL: postgres.urlOf(database),
    FARETRAIL_LOG_LEVEL: 'info',
    FARETRAIL_DESK_PORT: '0',
  });
  const { code, output, errors } = await runProgram(process.execPath, nodeArgs(name), env);
  expect({ code, errors }).toEqual({
    code: 2,
    errors: expect.stringMatching(
      /^FARETRAIL_STORE_URL: its encoding is LATIN1, .*create database NAME encoding 'UTF8'/,
    ),
  });
  expect(output + errors).not.toContain(postgres.password);
});
