import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';

// A fresh checkout, with an npm that takes a moment and notes when it is done, and a Go that does the same and takes longer.
const lockfile = JSON.stringify({ packages: { '': {}, 'node_modules/a': { integrity: 'one' } } });
const nowhere = 'http://127.0.0.1:1/';
const npm = `sleep 0.3; mkdir -p node_modules; cp package-lock.json node_modules/.package-lock.json; echo 'npm ended' >> "$LOG"`;
const go = `echo "go began in $PWD: CGO_ENABLED=$CGO_ENABLED $*" >> "$LOG"; sleep 1; echo 'go ended' >> "$LOG"`;

let checkout: string;

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(checkout, path)), { recursive: true });
  writeFileSync(join(checkout, path), text, { mode });
}

const program = (name: string, script: string): void => write(`bin/${name}`, `#!/bin/sh\n${script}\n`, 0o755);

/** What npm and Go noted, in order. */
const noted = (): string[] =>
  existsSync(join(checkout, 'log')) ? readFileSync(join(checkout, 'log'), 'utf8').trim().split('\n') : [];

/** Lets `prepare` ask for the official download elsewhere. */
function officialHostAt(url: string): void {
  const file = 'local/compile-ahead.mjs';
  const text = readFileSync(join(projectRoot, file), 'utf8');
  write(file, text.replace('https://temporal.download/', url));
}

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const path = `${join(checkout, 'bin')}:/usr/bin:/bin`;
  return spawn(process.execPath, ['local/prepare.mjs', ...args], {
    cwd: checkout,
    env: { PATH: path, HOME: checkout, LOG: join(checkout, 'log'), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function prepare(args: readonly string[] = ['--server'], env: Record<string, string> = {}) {
  const child = start(args, env);
  let said = '';
  child.stderr?.on('data', (chunk) => (said += chunk));
  await once(child, 'close');
  return { code: child.exitCode, said, log: noted() };
}

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'faretrail-ahead-'));
  mkdirSync(join(checkout, 'local/temporal/dev-server-build'), { recursive: true });
  for (const file of ['local/prepare.mjs', 'local/temporal/go-settings.json'])
    copyFileSync(join(projectRoot, file), join(checkout, file));
  officialHostAt(nowhere);
  write('package.json', '{"type":"module"}');
  write('package-lock.json', lockfile);
  write('tsconfig.build.json', '{ "include": ["src"] }');
  write('src/a.ts', 'right');
  program('npm', npm);
  program('go', go);
  write('node_modules/typescript/package.json', '{"type":"module"}');
  write(
    'node_modules/typescript/bin/tsc',
    `import fs from 'node:fs'; fs.cpSync('src', 'dist.next', { recursive: true });`,
  );
});

const goIsLeftOut = { code: 0, log: ['npm ended'] };

it('while npm installs, Go compiles the server with the flags of its build, and prepare waits for both', async () => {
  const { code, said, log } = await prepare();
  expect(code).toBe(0);
  expect(log).toHaveLength(3);
  const [began, ...ended] = log;
  expect(began).toMatch(/local\/temporal\/dev-server-build: CGO_ENABLED=0 list -export -deps .* -trimpath .* \.$/);
  expect(ended).toEqual(['npm ended', 'go ended']);
  expect(said).toContain('compiling the Temporal development server with Go');
});

it('a checkout that is installed already compiles nothing ahead', async () => {
  write('node_modules/.package-lock.json', lockfile);
  expect(await prepare()).toMatchObject({ code: 0, log: [] });
});

it('a command that needs no server compiles none', async () => {
  expect(await prepare([])).toMatchObject(goIsLeftOut);
});

it('nothing is compiled where a server is given', async () => {
  expect(await prepare(['--server'], { TEMPORAL_ADDRESS: '127.0.0.1:7233' })).toMatchObject(goIsLeftOut);
});

it('nothing is compiled where the PATH has a temporal program', async () => {
  program('temporal', 'exit 0');
  expect(await prepare()).toMatchObject(goIsLeftOut);
});

it('nothing is compiled where the cache has a server', async () => {
  write('.cache/faretrail/temporal-dev-server-1', '', 0o755);
  expect(await prepare()).toMatchObject(goIsLeftOut);
});

it('nothing is compiled where the official download can be reached', async () => {
  const host = createServer((_, reply) => reply.writeHead(404).end()).listen(0, '127.0.0.1');
  onTestFinished(() => void host.close());
  await once(host, 'listening');
  officialHostAt(`http://127.0.0.1:${(host.address() as AddressInfo).port}/`);
  expect(await prepare()).toMatchObject(goIsLeftOut);
});

it('prepare succeeds where Go fails: the build says later what is wrong', async () => {
  program('go', 'echo "go failed" >> "$LOG"; exit 1');
  expect(await prepare()).toMatchObject({ code: 0, log: ['go failed', 'npm ended'] });
});

it('Go is stopped when npm fails', async () => {
  program('npm', 'exit 1');
  program('go', 'echo "$$" >> "$LOG"; exec sleep 60');
  const { code, log } = await prepare();
  expect(code).toBe(1);
  const pid = Number(log[0]);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
