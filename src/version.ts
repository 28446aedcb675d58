import { readFileSync } from 'node:fs';

/** The version of this release: of the package.json one folder up from the sources, two from the compiled files. */
export const version: string = readVersion();

/** The value of `User-Agent` in requests to the service and to receivers of notices. */
export const userAgent = `faretrail/${version}`;

function readVersion(): string {
  for (const place of ['../package.json', '../../package.json']) {
    try {
      return (JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as { version: string }).version;
    } catch {
      // try the other place
    }
  }
  return 'unknown';
}
