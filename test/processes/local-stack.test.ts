import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { runProgram } from '../support/worker/process.js';

/** A compiled checkout in a path with a blank, as `npm start` finds it once all is installed. */
const checkout = join(mkdtempSync(join(tmpdir(), 'faretrail-stack-')), 'a check out');
const folder = join(checkout, '.faretrail');
const settingsFile = join(folder, 'local.env');
const script = join(checkout, 'dist/dev/stack/start.js');

beforeAll(() => {
  for (const part of ['dist', 'package.json', 'docs/schema', 'dev/stack/temporal']) {
    mkdirSync(dirname(join(checkout, part)), { recursive: true });
    cpSync(join(projectRoot, part), join(checkout, part), { recursive: true });
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(checkout, 'node_modules'));
});

const { PATH = '', HOME = '' } = process.env;
type Env = Record<string, string>;

/** `npm start` after its preparation. It is stopped at the end of the test. */
function startStack(env: Env = {}) {
  const child = spawn(process.execPath, [script], { env: { PATH, HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, output }));
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await ended;
  };
  onTestFinished(async () => void (await end('SIGTERM')));
  return {
    pid: child.pid ?? 0,
    end,
    ended,
    /** Resolves once it has said so. Rejects with its output where it ended before. */
    async says(text: string): Promise<void> {
      const isOver = ended.then(() => true);
      await expect.poll(async () => output.includes(text) || (await Promise.race([isOver, false]))).toBe(true);
      expect(output).toContain(text);
    },
    output: () => output,
  };
}

interface Note {
  pid: number;
  parts: number[];
}
const noted = () => JSON.parse(readFileSync(join(folder, 'stack.json'), 'utf8')) as Note;

/** The files below that somebody else may read or write. */
const openFiles = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name))
    .filter((file) => (statSync(file).mode & 0o077) !== 0);

const up = 'Still running';

describe('npm start', () => {
  it('runs once in a folder, whose files are for this user alone, and says how to reach what runs', async () => {
    const first = startStack();
    await first.says('ingress   http');
    const second = startStack();
    const { code, output } = await second.ended;
    expect(code).toBe(1);
    expect(output).toContain(`already running here (pid ${first.pid})`);
    for (const name of ['UI', 'sandbox', 'ingress'])
      expect(output).toMatch(new RegExp(`\n  ${name} +http://127.0.0.1`));
    await first.says(up);
    expect((statSync(folder).mode & 0o777).toString(8)).toBe('700');
    expect(openFiles(folder)).toEqual([]);

    // The documented lines, in a shell.
    const load = `set -a; . "${settingsFile}"; set +a`;
    const asked = await runProgram('/bin/sh', ['-c', `${load}; node "${checkout}/dist/src/starter.js" order list`]);
    expect(asked).toMatchObject({ code: 0, errors: '', output: expect.stringContaining('Completed') });
    expect(parseEnv(readFileSync(settingsFile, 'utf8')).FARETRAIL_JOURNAL_DIR).toBe(join(folder, 'journal'));
    expect(await first.end('SIGTERM')).toMatchObject({ code: 143 });

    // The same shell starts the next stack, which knows its own settings.
    const again = startStack(parseEnv(readFileSync(settingsFile, 'utf8')) as Env);
    await again.says('for: partner, business');
    await again.says('ingress   http');
    expect(again.output()).toContain('has loaded .faretrail/local.env');
  });

  it('says in one line which process was killed, and stops the others', async () => {
    const stack = startStack();
    await stack.says('ingress   http');
    await expect.poll(() => noted().parts.length).toBeGreaterThan(1);
    const [worker = 0] = noted().parts.slice(-2);
    process.kill(worker, 'SIGKILL');
    const { code, output } = await stack.ended;
    expect(code).toBe(1);
    const last = output.trim().split('\n').at(-1);
    expect(last).toBe('the worker was ended by SIGKILL; its log: .faretrail/worker.log');
  });

  it('goes on with the database and the journal after a kill -9, and leaves no others behind', async () => {
    const killed = startStack();
    await killed.says('ingress   http');
    await expect.poll(() => noted().parts.length).toBeGreaterThan(1);
    await killed.end('SIGKILL');
    const next = startStack();
    await next.says('ingress   http');
    expect(next.output()).not.toContain('already running');
    const kept = readdirSync(folder).filter((name) => /^(temporal|journal)/.test(name) && !/-(wal|shm)$/.test(name));
    expect(kept.sort()).toEqual(['journal', 'temporal.db']);
  });

  it('names the process that did not come up, why, and its log', async () => {
    const { code, output } = await startStack({ FARETRAIL_POLL_ACTIVE_MS: 'quickly' }).ended;
    expect(code).toBe(1);
    expect(output).toMatch(/^the worker \(log in \.faretrail\/worker\.log\) ended with 2 before it was up$/m);
    expect(output).toMatch(/^ +FARETRAIL_POLL_ACTIVE_MS: must be/m);
    expect(output).not.toMatch(/\n\s+at /);
  });

  const isRoot = process.getuid?.() === 0;
  it.skipIf(!isRoot)('says that it cannot write to its folder', async () => {
    const home = mkdtempSync(join(tmpdir(), 'faretrail-home-'));
    const options = { env: { PATH, HOME: home }, uid: 12_345, gid: 12_345 };
    // In the checkout of these tests, which belongs to another user.
    const child = spawn(process.execPath, [join(projectRoot, 'dist/dev/stack/start.js')], options);
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    await once(child, 'close');
    expect({ code: child.exitCode, errors }).toEqual({ code: 1, errors: 'cannot write to .faretrail (EACCES)\n' });
    expect(existsSync(join(home, '.cache'))).toBe(false);
  });
});
