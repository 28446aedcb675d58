import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSource } from './find-server.js';
import { projectRoot } from './project-root.js';
import { runCommand } from './run-command.js';
import { partialOf } from './server-cache.js';

/** A program that we build once. Our `go.mod` and `go.sum` pin all that comes from others. */
export interface GoProgram {
  what: string;
  /** The folder of `go.mod` in the checkout. */
  folder: string;
  package: string;
  /** The name in the cache. It holds the version, so that another version gets its own build. */
  fileName: string;
  /** The file or folder of our own code in `folder`, if there is any: another text gets its own build, too. */
  ours?: string;
  /** Texts in the place of source files, by absolute path (`-overlay` of the go command): other texts get their own build. */
  overlay?: Readonly<Record<string, string>>;
  /** How long it takes, for the report. Default: `about 2 to 5 minutes`. */
  takes?: string;
}

const buildLimitMs = 30 * 60_000; // 2 to 5 minutes on two cores

interface GoSettings {
  /** Flags that decide what is compiled. `prepare.mjs` compiles ahead with the same, or Go would compile all of it again. */
  compile: string[];
  env: Record<string, string>;
}
const goSettings: GoSettings = JSON.parse(
  readFileSync(join(projectRoot, 'dev/stack/temporal/go-settings.json'), 'utf8'),
);

/** Obtains the program from the Go module proxy. */
export function builtWithGo(program: GoProgram): ServerSource {
  const { what, folder, overlay, takes = 'about 2 to 5 minutes' } = program;
  const cwd = join(projectRoot, folder);
  const hashes = [program.ours ? hashOf(join(cwd, program.ours)) : [], overlay ? hashOfTexts(overlay) : []].flat();
  return {
    name: 'build from the Go module proxy',
    fileName: [program.fileName, ...hashes].join('-'),
    async obtain(path, report) {
      const partial = partialOf(path);
      const overlayFolder = partialOf(`${path}-overlay`);
      const options = { cwd, env: { ...process.env, ...goSettings.env }, timeLimitMs: buildLimitMs };
      report(`building ${what} with Go (once, ${takes})`);
      try {
        const overlaid = overlay ? [`-overlay=${writeOverlay(overlayFolder, overlay)}`] : [];
        const args = ['build', ...goSettings.compile, ...overlaid, '-buildvcs=false', '-ldflags=-s -w', '-o', partial];
        await runCommand('go', [...args, program.package], {
          ...options,
          progress: { what: 'still building', report },
        });
        renameSync(partial, path);
      } finally {
        rmSync(partial, { force: true });
        rmSync(overlayFolder, { recursive: true, force: true });
      }
      report('built; it is kept for next time');
    },
  };
}

/** Writes the texts into a new folder. Returns the path of the file that tells the go command what each of them replaces. */
function writeOverlay(folder: string, overlay: Readonly<Record<string, string>>): string {
  mkdirSync(folder);
  const replaced = Object.entries(overlay).map(([path, text], index): [string, string] => {
    const file = join(folder, `${index}.go`);
    writeFileSync(file, text);
    return [path, file];
  });
  const list = join(folder, 'overlay.json');
  writeFileSync(list, JSON.stringify({ Replace: Object.fromEntries(replaced) }));
  return list;
}

/** Twelve hexadecimal digits for these texts, wherever the files lie that they replace. */
const hashOfTexts = (overlay: Readonly<Record<string, string>>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.values(overlay)))
    .digest('hex')
    .slice(0, 12);

/** Twelve hexadecimal digits for the names and contents of what is at `path`. */
function hashOf(path: string): string {
  const hash = createHash('sha256');
  const inOrder = (names: string[]) => names.toSorted((a, b) => (a < b ? -1 : 1));
  const files = statSync(path).isDirectory() ? inOrder(readdirSync(path, { recursive: true, encoding: 'utf8' })) : [''];
  for (const name of files) {
    const file = join(path, name);
    if (statSync(file).isFile()) hash.update(`\0${name}\0`).update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 12);
}
