import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { dockerfile, inProject } from '../deploy/deployment-files.js';
import { encodedKey } from '../settings/env.js';
import { workerEnv } from '../support/accounts.js';
import { isLong } from '../support/long.js';

// Without a container: the steps of the Dockerfile in a folder, and what they leave, run as the user that an image has.
// Installs all packages, so it runs on demand: one to three minutes.
const minute = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'faretrail-image-'));
const [build, app, journal] = ['build', 'app', 'journal'].map((name) => join(folder, name)) as [string, string, string];
/** As in the image, when we may become another user; whoever we are otherwise. */
const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};
const healthy = (url: string) =>
  fetch(url).then(
    ({ status }) => status,
    () => 'no answer',
  );

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A step of the stage that builds, in `build`, or of the one that runs, in `app`. */
async function step(instruction: string, rest: string, stage: string): Promise<void> {
  const words = rest.split(' ');
  const target = join(stage, words.at(-1) ?? '');
  const into = (path: string) => (target.endsWith('/') ? join(target, path.split('/').at(-1) ?? '') : target);
  if (instruction === 'COPY' && words[0] === '--from=build')
    cpSync(join(build, words[1]?.replace('/build', '') ?? ''), into(words[1] ?? ''), { recursive: true });
  else if (instruction === 'COPY')
    for (const path of words.slice(0, -1)) cpSync(inProject(path), into(path), { recursive: true });
  else if (instruction === 'RUN' && stage === build)
    await promisify(execFile)('sh', ['-c', rest], { cwd: stage, timeout: 8 * minute });
}

function start(command: string, args: string[], env: Record<string, string>): { child: ChildProcess; said(): string } {
  const path = { PATH: `${join(app, 'bin')}:${process.env.PATH}`, HOME: '/', TZ: 'UTC' };
  const child = spawn(join(app, 'bin', command), args, { cwd: app, env: { ...path, ...env }, ...user });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, said: () => said };
}

it.runIf(isLong)(
  'makes what runs as any user: the worker, the ingress and the commands',
  async () => {
    let stage = '';
    for (const { instruction, rest } of dockerfile()) {
      if (instruction === 'FROM') stage = { build, runtime: app }[rest.split(' AS ')[1] ?? ''] ?? '';
      if (stage !== '') mkdirSync(stage, { recursive: true });
      if (stage !== '') await step(instruction, rest, stage);
    }
    mkdirSync(journal);
    if (user.uid) for (const path of [folder, journal]) chownSync(path, user.uid, user.gid);

    const version = start('faretrail', ['--version'], {});
    expect(await once(version.child, 'close')).toEqual([0, null]);
    expect(version.said()).toMatch(/^\d+\.\d+\.\d+\n$/);

    const env = workerEnv(sandbox.url, { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_LOG_LEVEL: 'info' });
    const accounts = join(folder, 'accounts.json'); // where that user can read it
    copyFileSync(env.FARETRAIL_ACCOUNTS_FILE ?? '', accounts);
    env.FARETRAIL_ACCOUNTS_FILE = accounts;
    const worker = start('worker', [], { ...env, FARETRAIL_METRICS_PORT: '0' });
    const more = {
      FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(9)}`,
      FARETRAIL_JOURNAL_DIR: journal,
      FARETRAIL_INGRESS_PORT: '0',
    };
    const ingress = start('ingress', [], { ...env, ...more });
    const portOf = (said: string, name: string) => new RegExp(`"${name}":(\\d+).*started`).exec(said)?.[1];
    await expect.poll(worker.said, { timeout: minute }).toContain('worker started');
    await expect.poll(ingress.said, { timeout: minute }).toContain('ingress started');
    await expect.poll(() => healthy(`http://127.0.0.1:${portOf(worker.said(), 'metricsPort')}/readyz`)).toBe(200);
    await expect.poll(() => healthy(`http://127.0.0.1:${portOf(ingress.said(), 'port')}/readyz`)).toBe(200);
    for (const { child } of [worker, ingress]) {
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      expect(await closed).toEqual([0, null]);
    }
  },
  12 * minute,
);
