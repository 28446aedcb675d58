import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settleSeed } from './seed.js';

/** One seed for all tests, and one temporary folder, so that no file of theirs stays behind. */
export default async function setUp(): Promise<() => Promise<void>> {
  settleSeed((line) => process.stderr.write(`set-up: ${line}\n`));
  const folder = await mkdtemp(join(tmpdir(), 'faretrail-tests-'));
  await chmod(folder, 0o711); // what an image leaves is run as another user
  process.env.TMPDIR = folder; // test processes start with it
  return () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
