import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';

/** A history of every path through the workflows. */
const folder = join(projectRoot, 'test/replay/histories');

/** The recorded histories, as paths. */
export const historyFiles = (): string[] => readdirSync(folder).map((file) => join(folder, file));

/** The paths that have one. */
export const recordedNames = (): string[] => historyFiles().map((file) => basename(file, '.json'));

/** Where the history of a path is kept. */
export const historyFile = (name: string): string => join(folder, `${name}.json`);

/** Keeps the history of a path that has none. Stack traces tell where a checkout lies. */
export const keepHistory = (name: string, json: string): void =>
  writeFileSync(historyFile(name), `${json.replaceAll(/"stackTrace":\s*"(?:[^"\\]|\\.)*"/g, '"stackTrace": ""')}\n`);

/** The histories of the latest release, each with its hash; `npm run release` writes them. */
const released = join(projectRoot, 'test/replay/released.json');

/** Which histories of the latest release are gone, or are no longer those that its code has written. */
export function changedSinceRelease(): string[] {
  const { sha256 } = JSON.parse(readFileSync(released, 'utf8')) as { sha256: Record<string, string> };
  const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
  const isKept = ([name, hash]: [string, string]) =>
    existsSync(historyFile(name)) && hashOf(historyFile(name)) === hash;
  return Object.entries(sha256)
    .filter((entry) => !isKept(entry))
    .map(([name]) => name);
}
