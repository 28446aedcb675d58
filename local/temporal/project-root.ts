import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The checkout. Found by its package.json, since this file runs from `local/` in tests and from `dist/local/` otherwise. */
export const projectRoot = rootAbove(import.meta.dirname);

function rootAbove(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  return rootAbove(dirname(directory));
}
