import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { controlSandbox } from '../../../dev/sandbox/control/client.js';
import { projectRoot } from '../../../dev/stack/temporal/project-root.js';
import { jsonFile } from '../../support/json-file.js';

function run(...args: string[]) {
  const child = spawn(process.execPath, [join(projectRoot, 'dist/dev/sandbox/main.js'), ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  }
  return { process: child, output: () => output, exit: once(child, 'close').then(([code]) => code as number | null) };
}

it('the sandbox process prints what to set, serves, and stops when it is told to', async () => {
  const sandbox = run('--port', '0');
  await expect.poll(sandbox.output).toContain('Stop with Ctrl+C.');
  const url = /FARETRAIL_PARTNER_BASE_URL=(\S+)/.exec(sandbox.output())?.[1] ?? '';
  expect(await controlSandbox(url).isHealthy()).toBe(true);
  const ofEach = ['BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET'].flatMap((name) => [`PARTNER_${name}`, `BUSINESS_${name}`]);
  for (const name of [...ofEach, 'BUSINESS_ID'])
    expect(sandbox.output()).toMatch(RegExp(`^FARETRAIL_${name}=\\S+$`, 'm'));
  sandbox.process.kill('SIGTERM');
  expect(await sandbox.exit).toBe(0);
});

it.each([
  ['--port', '70000'],
  ['--seed', 'x'],
  ['--colour', 'red'],
  ['--answers', jsonFile({ orderDetails: { path: '/x' } })],
])('the sandbox process ends with 2 for %s %s', async (...args) => {
  const sandbox = run(...args);
  expect(await sandbox.exit).toBe(2);
  expect(sandbox.output()).toContain(args[0]);
});
