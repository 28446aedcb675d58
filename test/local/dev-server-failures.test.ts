import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startDevServer } from '../../local/temporal/dev-server.js';
import { isRecentEnough } from '../../local/temporal/find-dev-server.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'faretrail-failing-server-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function startFake(script: string, extra: { port?: number; readyWithinMs?: number } = {}) {
  const program = join(folder, 'temporal');
  writeFileSync(program, `#!/bin/sh\necho start >> ${folder}/starts\n${script}\n`, { mode: 0o755 });
  return startDevServer({ program, databaseFile: join(folder, 'db/temporal.db'), ...extra });
}

const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').length;

it('says how its log ended when it dies at the start, after trying other ports', async () => {
  const failure = startFake('echo "disk is full" >&2; exit 1');
  await expect(failure).rejects.toMatchObject({
    code: 'DevServerEnded',
    message: expect.stringContaining('disk is full'),
  });
  expect(starts()).toBe(3);
});

it('tries a port that was asked for once only', async () => {
  await expect(startFake('exit 1', { port: 1 })).rejects.toMatchObject({ code: 'DevServerEnded' });
  expect(starts()).toBe(1);
});

it('gives up on a server that does not answer in time', async () => {
  const failure = startFake('echo "still thinking"; exec sleep 60', { readyWithinMs: 1_500 });
  await expect(failure).rejects.toMatchObject({
    code: 'DevServerNotReady',
    message: expect.stringMatching(/within 1500 ms\nstill thinking/),
  });
});

it('says so when there is no such program', async () => {
  const databaseFile = join(folder, 'db/temporal.db');
  await expect(startDevServer({ program: join(folder, 'missing'), databaseFile })).rejects.toThrow(/ENOENT/);
});

it('tells a server that is recent enough from one that is not', () => {
  expect(isRecentEnough('temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)')).toBe(true);
  expect(isRecentEnough('temporal version 1.1.0 (Server 1.25.0, UI 2.30.0)')).toBe(false);
  expect(isRecentEnough('command not found')).toBe(false);
});
