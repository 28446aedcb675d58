import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { inProject } from './deployment-files.js';

// Compiles much of BuildKit, compose, kustomize and the Kubernetes API once, for one to four minutes, so it runs on demand.
it.runIf(isLong)(
  'BuildKit, compose and kustomize read the deployment files as they stand',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'faretrail-check-'));
    for (const path of ['Dockerfile', 'docker-compose.yml', 'deploy'])
      cpSync(inProject(path), join(folder, path), { recursive: true });
    cpSync(join(folder, 'deploy/compose/accounts.example.json'), join(folder, 'deploy/compose/accounts.json'));
    const options = { cwd: inProject('test/deploy/check'), timeout: 15 * 60_000 };
    const run = promisify(execFile)('go', ['run', '-mod=readonly', '.', folder], options);
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    expect(stdout).toBe('');
    expect(stderr.replaceAll(/^go: downloading .*\n/gm, '')).toBe('39 Kubernetes objects read, 7 custom ones\n');
  },
  16 * 60_000,
);
