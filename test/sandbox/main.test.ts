import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlSandbox } from '../../sandbox/sandbox-control.js';

const root = resolve(import.meta.dirname, '../..');
// Inside node_modules, so that the compiled process finds its packages.
const outDir = join(root, 'node_modules/.cache', `sandbox-main-test-${process.pid}`);
const target = ['--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,es2024.string', '--types', 'node'];
const flags = ['--ignoreConfig', ...target, '--strict', '--skipLibCheck', '--rootDir', '.'];

beforeAll(() => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, 'sandbox/main.ts', ...flags, '--outDir', outDir], { cwd: root });
}, 60_000);
afterAll(() => rmSync(outDir, { recursive: true, force: true }));

function run(...args: string[]) {
  const child = spawn(process.execPath, [join(outDir, 'sandbox/main.js'), ...args]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  }
  return { process: child, output: () => output, exit: once(child, 'close').then(([code]) => code as number | null) };
}

describe('the sandbox process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('prints what to set, serves, and stops on %s', async (signal) => {
    const sandbox = run('--port', '0', '--speed', '60');
    await expect.poll(sandbox.output, { timeout: 10_000 }).toContain('FARETRAIL_BUSINESS_ID=');
    const url = /FARETRAIL_PARTNER_BASE_URL=(\S+)/.exec(sandbox.output())?.[1] ?? '';
    expect(await controlSandbox(url).isHealthy()).toBe(true);
    for (const name of ['BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET']) {
      expect(sandbox.output()).toMatch(new RegExp(`^FARETRAIL_PARTNER_${name}=\\S+$`, 'm'));
      expect(sandbox.output()).toMatch(new RegExp(`^FARETRAIL_BUSINESS_${name}=\\S+$`, 'm'));
    }
    sandbox.process.kill(signal);
    expect(await sandbox.exit).toBe(0);
  });

  it.each([
    ['--port', 'eighty'],
    ['--port', '70000'],
    ['--speed', '0'],
    ['--colour', 'red'],
  ])('ends with 2 for %s %s', async (...args) => {
    const sandbox = run(...args);
    expect(await sandbox.exit).toBe(2);
    expect(sandbox.output()).toContain(args[0]);
  });

  it('can begin with one order of each kind, at its speed', async () => {
    const sandbox = run('--port', '0', '--speed', '1800000', '--samples');
    await expect.poll(sandbox.output, { timeout: 10_000 }).toContain('a status nobody has documented');
    const url = /FARETRAIL_PARTNER_BASE_URL=(\S+)/.exec(sandbox.output())?.[1] ?? '';
    expect(await controlSandbox(url).advance('business', 'scheduled')).toBe('Completed'); // at real speed: Routing
    sandbox.process.kill();
    expect(await sandbox.exit).toBe(0);
  });

  it('ends with 1 when the port is taken', async () => {
    const first = run('--port', '0');
    await expect.poll(first.output, { timeout: 10_000 }).toContain('sandbox listening on ');
    const port = /listening on http:\/\/[^:]+:(\d+)/.exec(first.output())?.[1] ?? '';
    const second = run('--port', port);
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain('EADDRINUSE');
    first.process.kill();
    await first.exit;
  });
});
