import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSource } from './find-server.js';
import { projectRoot } from './project-root.js';
import { runCommand } from './run-command.js';
import { partialOf } from './server-cache.js';

/** A foreign program that we build once. Our `go.mod` and `go.sum` pin its version. */
export interface GoProgram {
  what: string;
  /** The folder of `go.mod` in the checkout. */
  folder: string;
  package: string;
  /** The name in the cache. It holds the version, so that another version gets its own build. */
  fileName: string;
  /** Values for variables of the program, as in `-X`. */
  variables?: Readonly<Record<string, string>>;
}

const buildLimitMs = 30 * 60_000; // 2 to 5 minutes on two cores

/** Obtains the program from the Go module proxy. */
export function builtWithGo(program: GoProgram): ServerSource {
  const { what, folder, fileName, variables = {} } = program;
  const setVariables = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...setVariables].join(' ')];
  return {
    name: 'build from the Go module proxy',
    fileName,
    async obtain(path, report) {
      const partial = partialOf(path);
      const options = { cwd: join(projectRoot, folder), timeLimitMs: buildLimitMs };
      report(`building ${what} with Go (once, about 2 to 5 minutes)`);
      try {
        const args = ['build', ...flags, '-o', partial, program.package];
        await runCommand('go', args, { ...options, progress: { what: 'still building', report } });
        renameSync(partial, path);
      } finally {
        rmSync(partial, { force: true });
      }
      report('built; it is kept for next time');
    },
  };
}
