import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Among the temporary files of the test run, which takes them all away at its end. */
const folder = mkdtempSync(join(tmpdir(), 'faretrail-test-'));

/** The path of a new file that holds this as JSON. */
export function jsonFile(content: unknown): string {
  const path = join(folder, `${randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}
