import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../local/temporal/project-root.js';
import { runCommand } from '../../local/temporal/run-command.js';
import { serverCache, underLock } from '../../local/temporal/server-cache.js';
import { isLong } from '../support/long.js';
import { type Ended, runProgram } from '../support/worker/process.js';

/** An example that was made ready to run, or why it cannot be. */
export type ExampleProgram = { run(args: string[], env: Record<string, string>): Promise<Ended> } | { missing: string };

const minute = 60_000;
const say = (line: string) => process.stderr.write(`examples: ${line}\n`);

/** The Python example with its pinned packages, in an environment that is kept between runs. */
export const pythonExample = (): Promise<ExampleProgram> =>
  madeReady('Python', async () => {
    const folder = join(projectRoot, 'examples/python');
    const version = await command('python3', ['--version']);
    const requirements = join(folder, 'requirements.txt');
    const python = await keptUnder('examples-python', [version, readFileSync(requirements, 'utf8')], async (made) => {
      await command('python3', ['-m', 'venv', '--clear', made], minute);
      const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--disable-pip-version-check'];
      await command(join(made, 'bin/python'), [...pip, '-r', requirements], 3 * minute);
    });
    return [join(python, 'bin/python'), join(folder, 'caller.py')];
  });

/** The Go example, built; the build cache is Go's own. The first build takes a minute and a half, so only on demand. */
export const goExample = (): Promise<ExampleProgram> =>
  madeReady('Go', async () => {
    if (!isLong) throw new Error('only with FARETRAIL_TEST_LONG=true');
    const folder = join(projectRoot, 'examples/go');
    const sources = ['main.go', 'go.mod', 'go.sum'].map((name) => readFileSync(join(folder, name), 'utf8'));
    const version = await command('go', ['version']);
    const built = await keptUnder('examples-go', [version, ...sources], async (made) => {
      await command('go', ['build', '-o', join(made, 'caller'), '.'], 5 * minute, folder);
    });
    return [join(built, 'caller')];
  });

async function madeReady(language: string, prepare: () => Promise<[string, ...string[]]>): Promise<ExampleProgram> {
  try {
    const [program, ...first] = await prepare();
    return { run: (args, env) => runProgram(program, [...first, ...args], env) };
  } catch (error) {
    const missing = error instanceof Error ? error.message : String(error);
    say(`the ${language} example is skipped: ${missing}`);
    return { missing };
  }
}

/** A folder in the cache of this machine that `make` fills once for what it depends on. */
async function keptUnder(name: string, dependsOn: string[], make: (folder: string) => Promise<void>): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(dependsOn)).digest('hex').slice(0, 12);
  const folder = join(serverCache(), `${name}-${hash}`);
  const mark = join(folder, 'complete'); // the folder cannot be made elsewhere and moved: its scripts name it
  await underLock(folder, say, async () => {
    if (existsSync(mark)) return;
    say(`making ${folder} ready`);
    await make(folder);
    writeFileSync(mark, '');
  });
  return folder;
}

const command = (program: string, args: string[], timeLimitMs = minute, cwd = projectRoot): Promise<string> =>
  runCommand(program, args, { cwd, timeLimitMs });
