import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { projectRoot } from './temporal/project-root.js';

/** Here each release has left a history of every path, and its workflows as one script. */
export const releasesFolder = join(projectRoot, 'test/replay');
export const bundleName = 'workflow-bundle.js.br';
const isVersion = /^\d+\.\d+\.\d+$/;

/** The versions of which something is kept, oldest first. */
export const releases = (): string[] =>
  readdirSync(releasesFolder)
    .filter((name) => isVersion.test(name))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** A bundle as the SDK takes it, which asks for a source map; ours is empty. */
const withSourceMap = (script: string): string => {
  const map = Buffer.from('{"version":3,"file":"workflow-bundle.js","sources":[],"mappings":""}').toString('base64');
  return `${script}\n//# sourceMappingURL=data:application/json;base64,${map}\n`;
};

/** The workflows of the newest release, for `workflowBundle`. */
export function previousRelease(): { version: string; code: string } {
  const version = releases().findLast((each) => existsSync(join(releasesFolder, each, bundleName)));
  if (!version) throw new Error('no release has left its workflows in test/replay');
  const packed = readFileSync(join(releasesFolder, version, bundleName));
  return { version, code: withSourceMap(brotliDecompressSync(packed).toString()) };
}
