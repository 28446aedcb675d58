import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findServer, type ServerSource } from '../../local/temporal/find-server.js';
import { underLock } from '../../local/temporal/server-cache.js';

const deadPid = 2147483646; // beyond any pid
const silent = () => undefined;
let cache: string;

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'faretrail-cache-'));
});

afterEach(() => rmSync(cache, { recursive: true, force: true }));

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

it('tries one source after the other and keeps what it got', async () => {
  const calls: string[] = [];
  const recipe = recipeOf(brokenSource, workingSource(calls));
  expect(await findServer(recipe, silent, cache)).toBe(join(cache, 'made'));
  expect(await findServer(recipe, silent, cache)).toBe(join(cache, 'made'));
  expect(calls).toHaveLength(1);
});

it('builds once for two who ask at the same time', async () => {
  const calls: string[] = [];
  const recipe = recipeOf(workingSource(calls));
  await Promise.all([findServer(recipe, silent, cache), findServer(recipe, silent, cache)]);
  expect(calls).toHaveLength(1);
});

it('names all that was tried, why it failed and the remedy', async () => {
  const failure = findServer(recipeOf(brokenSource), silent, cache);
  await expect(failure).rejects.toMatchObject({ code: 'ServerNotFound' });
  await expect(failure).rejects.toThrow(/far away: no road\nRemedy: install one/);
});

it('takes over the lock of a process that is gone, and clears its unfinished work away', async () => {
  writeFileSync(join(cache, 'work.lock'), String(deadPid));
  writeFileSync(join(cache, `made.${deadPid}.partial`), 'half');
  expect(await underLock(join(cache, 'work'), silent, async () => 'done')).toBe('done');
  expect(existsSync(join(cache, `made.${deadPid}.partial`))).toBe(false);
  expect(existsSync(join(cache, 'work.lock'))).toBe(false);
});

it('frees the lock when the work fails', async () => {
  await expect(underLock(join(cache, 'work'), silent, () => Promise.reject(new Error('broken')))).rejects.toThrow();
  expect(await underLock(join(cache, 'work'), silent, async () => 'done')).toBe('done');
});
