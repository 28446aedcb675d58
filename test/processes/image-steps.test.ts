import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, copyFileSync, cpSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../dev/sandbox/sandbox.js';
import { dockerfile, inProject } from '../deploy/deployment-files.js';
import { encodedKey } from '../settings/env.js';
import { workerEnv } from '../support/accounts.js';
import { isLong } from '../support/long.js';

// Without a container: the steps of the Dockerfile in a folder; what they make runs as the user of the image.
// Installs all packages, so it runs on demand: one to three minutes.
const minute = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'faretrail-image-'));
const [build, app, journal] = ['build', 'app', 'journal'].map((name) => join(folder, name)) as [string, string, string];
/** As in the image where the test may become another user; else the user of the test. */
const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};
const statusOf = async (url: string) => (await fetch(url).catch(() => undefined))?.status;

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
  'the steps of the Dockerfile make what runs as any user: the worker, the ingress, the desk and the commands',
  async () => {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.close());
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
    const webhooks = { FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(9)}`, FARETRAIL_JOURNAL_DIR: journal };
    const worker = start('worker', [], { ...env, FARETRAIL_METRICS_PORT: '0' });
    const ingress = start('ingress', [], { ...env, ...webhooks, FARETRAIL_INGRESS_PORT: '0' });
    const page = { FARETRAIL_STORE_URL: 'postgresql://127.0.0.1:1/none', FARETRAIL_DESK_PORT: '0' };
    const desk = start('desk', [], { ...env, ...page });
    for (const [{ child, said }, port, probe] of [
      [worker, /"metricsPort":(\d+).*worker started/, 'readyz'],
      [ingress, /"port":(\d+).*ingress started/, 'readyz'],
      [desk, /"origin":"http:\/\/127\.0\.0\.1:(\d+)".*desk started/, 'healthz'],
    ] as const) {
      await expect.poll(said, { timeout: minute }).toMatch(port);
      await expect.poll(() => statusOf(`http://127.0.0.1:${port.exec(said())?.[1]}/${probe}`)).toBe(200);
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      expect(await closed).toEqual([0, null]);
    }
  },
  12 * minute,
);
