import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'faretrail-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The path of a new file that holds this as JSON and is gone after the tests of the file that asked for it. */
export function jsonFile(content: unknown): string {
  const path = join(folder, `${randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}
