import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { onTestFinished } from 'vitest';

/** A process that appends to a journal until it is killed. */
export interface JournalProcess {
  pid: number;
  /** The lines it has printed and finished. */
  lines(): string[];
  /** kill -9. */
  kill(): Promise<void>;
}

let code: Promise<string> | undefined;

/** The sources as they are now, so that no test meets an outdated build. */
async function bundle(): Promise<string> {
  const input = fileURLToPath(new URL('./child.ts', import.meta.url));
  const build = await rolldown({ input, platform: 'node', external: (id) => !/^[./]/.test(id) });
  const { output } = await build.generate({ format: 'esm' });
  return output[0].code;
}

/** `command` may wrap the node process, such as `['bash', '-c', 'ulimit -f 1; exec "$@"', '-']`. */
export async function startJournalProcess(
  env: { JOURNAL_FOLDER: string; JOURNAL_ROUND?: string; JOURNAL_DRAIN?: string },
  command: string[] = [],
): Promise<JournalProcess> {
  code ??= bundle();
  const node = [process.execPath, '--input-type=module', '-e', await code];
  const [program = '', ...words] = [...command, ...node];
  const root = fileURLToPath(new URL('../../..', import.meta.url)); // packages are looked for from here
  const child = spawn(program, words, {
    cwd: root,
    env: { ...env, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => end(child));
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return {
    pid: child.pid ?? 0,
    lines: () => output.split('\n').slice(0, -1),
    kill: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close'); // also all of its output was read
  child.kill('SIGKILL');
  await closed;
}
