import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Among the temporary files of the test run, which takes them all away at its end. */
const folder = mkdtempSync(join(tmpdir(), 'faretrail-test-'));

/** The path of a new file that holds this as JSON. */
export const jsonFile = (content: unknown): string => textFile(JSON.stringify(content));

/** The same for any text or bytes. */
export function textFile(content: string | Uint8Array, ending = ''): string {
  const path = join(folder, `${randomUUID()}${ending}`);
  writeFileSync(path, content);
  return path;
}
