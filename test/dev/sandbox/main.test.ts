import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
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

/** Resolves once it has printed this line and all before. */
async function started(lastLine: string, ...args: string[]) {
  const sandbox = run('--port', '0', ...args);
  await expect.poll(sandbox.output, { timeout: 10_000 }).toContain(lastLine);
  const url = /FARETRAIL_PARTNER_BASE_URL=(\S+)/.exec(sandbox.output())?.[1] ?? '';
  return { ...sandbox, url, control: controlSandbox(url) };
}

describe('the sandbox process', () => {
  it('prints what to set, serves, and stops when it is told to', async () => {
    const sandbox = await started('Stop with Ctrl+C.');
    expect(await sandbox.control.isHealthy()).toBe(true);
    for (const name of ['PARTNER', 'BUSINESS'].flatMap((at) => [
      `${at}_BASE_URL`,
      `${at}_CLIENT_ID`,
      `${at}_CLIENT_SECRET`,
    ]))
      expect(sandbox.output()).toMatch(new RegExp(`^FARETRAIL_${name}=\\S+$`, 'm'));
    expect(sandbox.output()).toContain('FARETRAIL_BUSINESS_ID=');
    sandbox.process.kill('SIGTERM');
    expect(await sandbox.exit).toBe(0);
  });

  it.each([
    ['--port', '70000'],
    ['--form', 'x'],
    ['--colour', 'red'],
    ['--answers', jsonFile({ orderDetails: { path: '/x' } })],
  ])('ends with 2 for %s %s', async (...args) => {
    const sandbox = run(...args);
    expect(await sandbox.exit).toBe(2);
    expect(sandbox.output()).toContain(args[0]);
  });
});
