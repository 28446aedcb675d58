import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { inProject } from './deployment-files.js';

// Compiles parts of the Temporal server once, for one to four minutes, so it runs on demand.
it.runIf(isLong)(
  'each role may make its calls to the Temporal server, and no other',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'faretrail-authorizer-'));
    for (const path of ['deploy/temporal', 'test/deploy/authorizer'])
      cpSync(inProject(path), folder, { recursive: true });
    const run = promisify(execFile)('go', ['test', '-mod=readonly', '.'], { cwd: folder, timeout: 15 * 60_000 });
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    expect(stdout).toMatch(/^ok\s/);
  },
  16 * 60_000,
);
