import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { projectRoot } from '../../local/temporal/project-root.js';

/**
 * `test/replay/<version>/` holds what a release has left: a history of every path, and its workflows as one script.
 * `test/replay/unreleased/` holds histories of paths that came after the newest release.
 */
const here = fileURLToPath(new URL('.', import.meta.url));
const unreleased = join(here, 'unreleased');
const bundleName = 'workflow-bundle.js.br';
const isVersion = /^\d+\.\d+\.\d+$/;

/** The versions of which something is kept, oldest first. */
const releases = (): string[] =>
  readdirSync(here)
    .filter((name) => isVersion.test(name))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** All recorded histories, as paths. */
export const historyFiles = (): string[] =>
  [...releases(), basename(unreleased)].flatMap((release) => {
    const folder = join(here, release);
    const files = existsSync(folder) ? readdirSync(folder) : [];
    return files.filter((file) => file.endsWith('.json')).map((file) => join(folder, file));
  });

/** The histories that a path has, newest release last. */
export const historiesOf = (name: string): string[] =>
  historyFiles().filter((file) => basename(file, '.json') === name);

/** A bundle as the SDK takes it, which asks for a source map; ours is empty. */
const withSourceMap = (script: string): string => {
  const map = Buffer.from('{"version":3,"file":"workflow-bundle.js","sources":[],"mappings":""}').toString('base64');
  return `${script}\n//# sourceMappingURL=data:application/json;base64,${map}\n`;
};

/** Source maps are four fifths of a bundle; both they and module names tell where a checkout lies. */
const withoutPlaces = (code: string): string =>
  code.slice(0, code.lastIndexOf('//# sourceMappingURL=')).replaceAll(`${projectRoot}/`, '');

/** The workflows of the newest release, for `workflowBundle`. */
export function previousRelease(): { version: string; code: string } {
  const version = releases().findLast((each) => existsSync(join(here, each, bundleName)));
  if (!version) throw new Error('no release has left its workflows in test/replay');
  const packed = readFileSync(join(here, version, bundleName));
  return { version, code: withSourceMap(brotliDecompressSync(packed).toString()) };
}

/** Keeps a history: of a release that is being cut, or of a path that came after the newest one. */
export function keepHistory(name: string, json: string, version?: string): void {
  const folder = version ? join(here, version) : unreleased;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${json}\n`);
}

/** Keeps the workflows of a release that is being cut. */
export function keepBundle(code: string, version: string): void {
  const folder = join(here, version);
  mkdirSync(folder, { recursive: true });
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24 };
  writeFileSync(join(folder, bundleName), brotliCompressSync(withoutPlaces(code), { params }));
}
