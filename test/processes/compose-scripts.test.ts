import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';

// The scripts of docker-compose.yml that run in images of other projects, with the programs that these have on their path.
const folder = mkdtempSync(join(tmpdir(), 'faretrail-scripts-'));
const passwordFile = join(folder, 'password');
writeFileSync(passwordFile, 'the-password\n');
symlinkSync(inject('temporalProgram'), join(folder, 'temporal'));

const program = (name: string, text: string): void =>
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });

const run = (script: string, env: Record<string, string>) =>
  promisify(execFile)('sh', [join(projectRoot, 'deploy/compose', script)], {
    env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder, ...env },
  });

it('make-namespace.sh makes the namespace with its retention once, and succeeds again later', async () => {
  const namespace = `compose-${randomUUID()}`;
  const address = inject('temporalAddress');
  const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, RETENTION: '30d' };
  await run('make-namespace.sh', env);
  const connection = await Connection.connect({ address });
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  await connection.close();
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 86_400);
  await run('make-namespace.sh', env);
});

it('make-namespace.sh fails while no Temporal server answers, so that compose starts it again', async () => {
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_NAMESPACE: 'any' };
  await expect(run('make-namespace.sh', env)).rejects.toMatchObject({ code: 1 });
});

it('set-up-database.sh sets up both databases with the password of its file, and stops at the first failure', async () => {
  const calls = join(folder, 'calls');
  program(
    'temporal-sql-tool',
    `echo "$SQL_PLUGIN $SQL_DATABASE $SQL_PASSWORD $*" >> ${calls}; test "$1" != "$FAIL_AT"`,
  );
  await run('set-up-database.sh', { SQL_PASSWORD_FILE: passwordFile });
  const steps = (database: string, schema: string) =>
    ['create-database', 'setup-schema --version 0.0', `update-schema --schema-name postgresql/v12/${schema}`].map(
      (step) => `postgres12 ${database} the-password ${step}`,
    );
  const expected = [...steps('temporal', 'temporal'), ...steps('temporal_visibility', 'visibility')];
  expect(readFileSync(calls, 'utf8').trim().split('\n')).toEqual(expected);
  const failing = run('set-up-database.sh', { SQL_PASSWORD_FILE: passwordFile, FAIL_AT: 'setup-schema' });
  await expect(failing).rejects.toMatchObject({ code: 1 });
  expect(readFileSync(calls, 'utf8').trim().split('\n')).toHaveLength(expected.length + 2);
});

it('start-temporal.sh hands the server its password, and becomes its process', async () => {
  const text = readFileSync(join(projectRoot, 'deploy/compose/start-temporal.sh'), 'utf8');
  program('entrypoint', 'echo "$POSTGRES_PWD $$"');
  program('start', text.replace('/etc/temporal/entrypoint.sh', join(folder, 'entrypoint')).replace('#!/bin/sh\n', ''));
  const child = promisify(execFile)(join(folder, 'start'), {
    env: { ...process.env, POSTGRES_PWD_FILE: passwordFile },
  });
  expect((await child).stdout).toBe(`the-password ${child.child.pid}\n`);
});
