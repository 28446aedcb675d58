import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './project-root.js';
import { type Report, runCommand } from './run-command.js';
import { keptFolder } from './server-cache.js';

const limitMs = 5 * 60_000;

/** The path of a Python that has the packages of a requirements file, which pins them. Its environment is kept in the cache. */
export async function pythonWith(requirements: string, name: string, report: Report): Promise<string> {
  const run = (program: string, args: string[]) =>
    runCommand(program, args, { cwd: projectRoot, timeLimitMs: limitMs });
  const dependsOn = [await run('python3', ['--version']), readFileSync(requirements, 'utf8')];
  const folder = await keptFolder(name, dependsOn, report, async (made) => {
    await run('python3', ['-m', 'venv', '--clear', made]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--disable-pip-version-check'];
    await run(join(made, 'bin/python'), [...pip, '-r', requirements]);
  });
  return join(folder, 'bin/python');
}
