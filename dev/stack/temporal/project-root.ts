import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The checkout: the folder with package.json. In tests this file runs from `dev/stack/`, otherwise from `dist/dev/stack/`. */
export const projectRoot = rootAbove(import.meta.dirname);

function rootAbove(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  return rootAbove(dirname(directory));
}
