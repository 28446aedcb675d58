import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { DockerMissing, findDocker } from '../../containers/docker.js';

/** A `docker` of its own kind: a shell script. */
const dockerThat = (script: string) => {
  const path = join(mkdtempSync(join(tmpdir(), 'faretrail-docker-')), 'docker');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return async (args: readonly string[]) => (await promisify(execFile)(path, args)).stdout;
};

it('names the versions of the daemon and of Compose', async () => {
  const docker = dockerThat('[ "$1" = version ] && echo 28.2.2 || echo 2.40.3');
  expect(await findDocker(docker)).toBe('Docker 28.2.2, Compose 2.40.3');
});

it.each([
  ['no daemon answers', 'echo "Cannot connect to the Docker daemon at unix:///x" >&2; exit 1', 'Docker daemon'],
  [
    'Compose is missing',
    '[ "$1" = version ] && echo 28 || { echo "not a docker command" >&2; exit 1; }',
    'docker compose',
  ],
])('when %s, it says so with a remedy and the cause', async (_what, script, missing) => {
  const error = await findDocker(dockerThat(script)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DockerMissing);
  const { message } = error as DockerMissing;
  expect(message).toContain(missing);
  expect(message).toMatch(/Start one|Install it/);
  expect(message).toMatch(/Cannot connect|not a docker command/);
});

it('a machine without the command has no Docker', async () => {
  const missing = async () => (await promisify(execFile)('/no/such/docker', [])).stdout;
  await expect(findDocker(missing)).rejects.toThrow(DockerMissing);
});
