import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { projectRoot } from '../../../dev/stack/temporal/project-root.js';

// A checkout with one source file, an installed lockfile and a compiler that copies and keeps count.
const countingCompiler = `
  import { appendFileSync, cpSync, readFileSync } from 'node:fs';
  appendFileSync('compilations', '.');
  if (readFileSync('src/a.ts', 'utf8').includes('wrong')) { console.log('src/a.ts(1,1): wrong'); process.exit(1); }
  await new Promise((resolve) => setTimeout(resolve, 300));
  cpSync('src', 'dist.next/src', { recursive: true });`;
const lockfile = JSON.stringify({ packages: { '': {}, 'node_modules/a': { integrity: 'one' } } });

let checkout: string;

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(checkout, path)), { recursive: true });
  writeFileSync(join(checkout, path), text, { mode });
}

const read = (path: string): string => readFileSync(join(checkout, path), 'utf8');
const compilations = (): number => (existsSync(join(checkout, 'compilations')) ? read('compilations').length : 0);

async function prepare(...args: string[]): Promise<{ code: number | null; said: string }> {
  const env = { PATH: join(checkout, 'bin'), HOME: checkout };
  const child = spawn(process.execPath, ['dev/stack/prepare.mjs', ...args], { cwd: checkout, env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  await once(child, 'close');
  return { code: child.exitCode, said };
}

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'faretrail-prepare-'));
  mkdirSync(join(checkout, 'dev/stack'), { recursive: true });
  copyFileSync(join(projectRoot, 'dev/stack/prepare.mjs'), join(checkout, 'dev/stack/prepare.mjs'));
  write('package.json', '{"type":"module"}');
  write('package-lock.json', lockfile);
  write('node_modules/.package-lock.json', lockfile);
  write('node_modules/typescript/package.json', '{"type":"module"}');
  write('node_modules/typescript/bin/tsc', countingCompiler);
  write('tsconfig.build.json', '{ "include": ["src"] }');
  write('src/a.ts', 'right');
});

it('prepare compiles once, and again after a change; it is silent when nothing has changed, and with --quiet', async () => {
  expect((await prepare()).said).toContain('compiling');
  expect(read('dist/src/a.ts')).toBe('right');
  expect(await prepare()).toEqual({ code: 0, said: '' });
  expect(compilations()).toBe(1);
  write('src/a.ts', 'right again');
  expect(await prepare('--quiet')).toEqual({ code: 0, said: '' });
  expect(read('dist/src/a.ts')).toBe('right again');
});

it('prepare shows what does not compile, keeps the former output and tries again the next time', async () => {
  await prepare();
  write('src/a.ts', 'wrong');
  expect(await prepare('--quiet')).toMatchObject({ code: 1, said: expect.stringContaining('src/a.ts(1,1): wrong') });
  expect((await prepare()).code).toBe(1);
  expect(read('dist/src/a.ts')).toBe('right');
});

it('prepare installs when the lockfile asks for another package than npm noted', async () => {
  write('bin/npm', `#!/bin/sh\necho "$@" > npm-arguments\n`, 0o755);
  write('package-lock.json', lockfile.replace('one', 'two'));
  expect((await prepare('--quiet')).said).toContain('npm ci');
  expect(read('npm-arguments')).toContain('ci');
});
