import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { startDevServer } from '../../../dev/stack/temporal/dev-server.js';
import { findServer, type ServerSource } from '../../../dev/stack/temporal/find-server.js';
import { builtWithGo } from '../../../dev/stack/temporal/go-build.js';
import { underLock } from '../../../dev/stack/temporal/server-cache.js';
import { withShift } from '../../support/server/shifted-server.js';

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

it('the failure of a server that dies at the start holds the end of its log, after three ports were tried', async () => {
  const program = join(folder, 'temporal');
  const script = `#!/bin/sh\necho start >> ${folder}/starts\necho "disk is full" >&2; exit 1\n`;
  writeFileSync(program, script, { mode: 0o755 });
  const started = startDevServer({ program, databaseFile: join(folder, 'db/temporal.db') });
  await expect(started).rejects.toMatchObject({
    code: 'ServerEnded',
    message: expect.stringContaining('disk is full'),
  });
  expect(readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n')).toHaveLength(3);
});

it('a build with texts in the place of source files has a file name of its own', () => {
  const program = { what: 'a program', folder: 'dev', package: '.', fileName: 'program' };
  const nameWith = (text: string) => builtWithGo({ ...program, overlay: { '/time.go': text } }).fileName;
  expect(builtWithGo(program).fileName).toBe('program');
  expect(nameWith('a')).toMatch(/^program-[0-9a-f]{12}$/);
  expect(nameWith('b')).not.toBe(nameWith('a'));
});

it('a clock that can be shifted is refused for a Go whose `time.Now` looks different', () => {
  const known = 'package time\n\nimport (\n)\n\nfunc Now() Time {\n\tsec, nsec, mono := runtimeNow()\n}\n';
  expect(withShift(known)).toContain('runtimeNow()\n\tsec += FaretrailAheadSeconds.Load()\n');
  expect(() => withShift(known.replace('runtimeNow', 'now'))).toThrow('does not have exactly once: func Now()');
});
