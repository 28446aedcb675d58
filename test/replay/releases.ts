import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { bundleName, releasesFolder as here, releases } from '../../local/previous-release.js';
import { projectRoot } from '../../local/temporal/project-root.js';

/**
 * `test/replay/<version>/` holds what a release has left: a history of every path, and its workflows as one script.
 * `test/replay/unreleased/` holds histories of paths that came after the newest release.
 */
const unreleased = join(here, 'unreleased');

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

/** Source maps are four fifths of a bundle; both they and module names tell where a checkout lies. */
const withoutPlaces = (code: string): string =>
  code.slice(0, code.lastIndexOf('//# sourceMappingURL=')).replaceAll(`${projectRoot}/`, '');

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
