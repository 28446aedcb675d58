import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { parseSource, type SourceFile } from './source-file.js';

/** A file with its path below the checkout. */
export interface TextFile {
  path: string;
  text: string;
}

const ignored = ['node_modules', 'dist', 'dist.next', '.git', '.faretrail'];

/** The files below a folder of the checkout, with their text; none when it does not exist. */
export function filesBelow(folder: string): TextFile[] {
  if (!existsSync(join(projectRoot, folder))) return [];
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (ignored.includes(entry.name)) return [];
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [{ path, text: readFileSync(join(projectRoot, path), 'utf8') }] : [];
  });
}

/** The folders with our TypeScript. */
export const codeFolders: readonly string[] = JSON.parse(
  readFileSync(join(projectRoot, 'tsconfig.json'), 'utf8'),
).include;

/** Our TypeScript files, read. Declaration files are not ours to judge. */
export function readSources(): SourceFile[] {
  return codeFolders
    .flatMap(filesBelow)
    .filter(({ path }) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map(({ path, text }) => parseSource(path, text));
}
