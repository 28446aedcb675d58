import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';
import { controlSandbox } from '../../sandbox/sandbox-control.js';
import { jsonFile } from '../support/json-file.js';

function run(...args: string[]) {
  const child = spawn(process.execPath, [join(projectRoot, 'dist/sandbox/main.js'), ...args]);
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
  it.each(['SIGTERM', 'SIGINT'] as const)('prints what to set, serves, and stops on %s', async (signal) => {
    const sandbox = await started('Stop with Ctrl+C.');
    expect(await sandbox.control.isHealthy()).toBe(true);
    for (const name of ['PARTNER', 'BUSINESS'].flatMap((at) => [
      `${at}_BASE_URL`,
      `${at}_CLIENT_ID`,
      `${at}_CLIENT_SECRET`,
    ]))
      expect(sandbox.output()).toMatch(new RegExp(`^FARETRAIL_${name}=\\S+$`, 'm'));
    expect(sandbox.output()).toContain('FARETRAIL_BUSINESS_ID=');
    sandbox.process.kill(signal);
    expect(await sandbox.exit).toBe(0);
  });

  it('begins with one order of each kind when it is asked to, at its speed', async () => {
    const { control } = await started('an undocumented status', '--speed', '1800000', '--samples');
    expect(await control.advance('business', 'scheduled')).toBe('Completed'); // at real speed: Routing
  });

  it('answers otherwise when it is told to', async () => {
    const file = jsonFile({ orderStatus: { url: '/v9/rides/:orderId' } });
    const { url } = await started('Stop with Ctrl+C.', '--answers', file);
    const statuses = await Promise.all(
      ['/v9/rides/1', '/v1/private/orders/status/1'].map(async (path) => (await fetch(`${url}${path}`)).status),
    );
    expect(statuses).toEqual([401, 404]);
  });

  it('ends with 1 when the port is taken', async () => {
    const { url } = await started('Stop with Ctrl+C.');
    const second = run('--port', new URL(url).port);
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain('EADDRINUSE');
  });

  it.each([
    ['--port', 'eighty'],
    ['--port', '70000'],
    ['--speed', '0'],
    ['--colour', 'red'],
    ['--answers', '/nonexistent.json'],
    ['--answers', jsonFile({ orderDetails: { path: '/x' } })],
  ])('ends with 2 for %s %s', async (...args) => {
    const sandbox = run(...args);
    expect(await sandbox.exit).toBe(2);
    expect(sandbox.output()).toContain(args[0]);
  });
});
