import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { startDevServer } from '../../local/temporal/dev-server.js';
import { isRecentEnough } from '../../local/temporal/find-dev-server.js';
import { findServer, type ServerSource } from '../../local/temporal/find-server.js';
import { builtWithGo } from '../../local/temporal/go-build.js';
import { projectRoot } from '../../local/temporal/project-root.js';
import { keptFolder, underLock } from '../../local/temporal/server-cache.js';

const deadPid = 2147483646; // beyond any pid
const silent = () => undefined;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'faretrail-cache-'));
});

const recipeOf = (...sources: ServerSource[]) => ({ what: 'test server', sources, remedy: 'install one' });

function workingSource(calls: string[]): ServerSource {
  return {
    name: 'workshop',
    fileName: 'made',
    async obtain(path) {
      calls.push(path);
      await pause(50);
      writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 });
    },
  };
}

const brokenSource: ServerSource = {
  name: 'far away',
  fileName: 'fetched',
  obtain: () => Promise.reject(new Error('no road')),
};

it('tries one source of a server after the other and keeps the program', async () => {
  const calls: string[] = [];
  const recipe = recipeOf(brokenSource, workingSource(calls));
  expect(await findServer(recipe, silent, folder)).toBe(join(folder, 'made'));
  expect(await findServer(recipe, silent, folder)).toBe(join(folder, 'made'));
  expect(calls).toHaveLength(1);
});

it('builds a server once for two callers at the same time', async () => {
  const calls: string[] = [];
  const recipe = recipeOf(workingSource(calls));
  await Promise.all([findServer(recipe, silent, folder), findServer(recipe, silent, folder)]);
  expect(calls).toHaveLength(1);
});

it('names each source that failed, the reason and the remedy when no source has a server', async () => {
  const failure = findServer(recipeOf(brokenSource), silent, folder);
  await expect(failure).rejects.toMatchObject({ code: 'ServerNotFound' });
  await expect(failure).rejects.toThrow(/far away: no road\nRemedy: install one/);
});

it('takes over the lock of a process that is gone, and removes its unfinished work', async () => {
  writeFileSync(join(folder, 'work.lock'), String(deadPid));
  writeFileSync(join(folder, `made.${deadPid}.partial`), 'half');
  expect(await underLock(join(folder, 'work'), silent, async () => 'done')).toBe('done');
  expect(existsSync(join(folder, `made.${deadPid}.partial`))).toBe(false);
  expect(existsSync(join(folder, 'work.lock'))).toBe(false);
});

it('frees the lock when the work fails', async () => {
  await expect(underLock(join(folder, 'work'), silent, () => Promise.reject(new Error('broken')))).rejects.toThrow();
  expect(await underLock(join(folder, 'work'), silent, async () => 'done')).toBe('done');
});

it('a program with code of ours is built anew when that code changes, and only then', () => {
  const fileName = () =>
    builtWithGo({ what: 'ours', folder: relative(projectRoot, folder), package: '.', fileName: 'ours-1', ours: '.' })
      .fileName;
  mkdirSync(join(folder, 'below'));
  writeFileSync(join(folder, 'main.go'), 'package main');
  writeFileSync(join(folder, 'below/part.go'), 'package below');
  const before = fileName();
  expect(before).toMatch(/^ours-1-[0-9a-f]{12}$/);
  expect(fileName()).toBe(before);
  writeFileSync(join(folder, 'below/part.go'), 'package below // changed');
  expect(fileName()).not.toBe(before);
});

function startFake(script: string, extra: { port?: number; readyWithinMs?: number } = {}) {
  const program = join(folder, 'temporal');
  writeFileSync(program, `#!/bin/sh\necho start >> ${folder}/starts\n${script}\n`, { mode: 0o755 });
  return startDevServer({ program, databaseFile: join(folder, 'db/temporal.db'), ...extra });
}

it('fills a folder once for what it depends on, and again after a failure', async () => {
  process.env.XDG_CACHE_HOME = folder;
  const made: string[] = [];
  const make = async (path: string): Promise<void> => {
    made.push(path);
    if (made.length === 1) throw new Error('no road');
  };
  await expect(keptFolder('thing', ['1'], silent, make)).rejects.toThrow('no road');
  const first = await keptFolder('thing', ['1'], silent, make);
  expect(await keptFolder('thing', ['1'], silent, make)).toBe(first);
  expect(await keptFolder('thing', ['2'], silent, make)).not.toBe(first);
  expect(made).toHaveLength(3);
  delete process.env.XDG_CACHE_HOME;
});

const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').length;

it('the failure of a server that dies at the start holds the end of its log, after three ports were tried', async () => {
  const ended = { code: 'DevServerEnded', message: expect.stringContaining('disk is full') };
  await expect(startFake('echo "disk is full" >&2; exit 1')).rejects.toMatchObject(ended);
  expect(starts()).toBe(3);
});

it('a port that the caller named is tried once only', async () => {
  await expect(startFake('exit 1', { port: 1 })).rejects.toMatchObject({ code: 'DevServerEnded' });
  expect(starts()).toBe(1);
});

it('a server that does not answer in time is given up', async () => {
  const notReady = { code: 'DevServerNotReady', message: expect.stringMatching(/within 1500 ms\nstill thinking/) };
  const failure = startFake('echo "still thinking"; exec sleep 60', { readyWithinMs: 1_500 });
  await expect(failure).rejects.toMatchObject(notReady);
});

it('a program that does not exist is an error', async () => {
  const databaseFile = join(folder, 'db/temporal.db');
  await expect(startDevServer({ program: join(folder, 'missing'), databaseFile })).rejects.toThrow(/ENOENT/);
});

it.each([
  ['temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)', true],
  ['temporal version 1.1.0 (Server 1.25.0, UI 2.30.0)', false],
  ['command not found', false],
])('a server that says of itself "%s" is recent enough: %s', (version, isRecent) => {
  expect(isRecentEnough(version)).toBe(isRecent);
});
