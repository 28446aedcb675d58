import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../stack/temporal/project-root.js';
import type { OnEnd } from '../profile.js';
import type { Cluster } from './start-cluster.js';
import type { Tally } from './tally.js';

/** Everything that a service or an operator does, and kills of worker processes. */
const chosen = ['test/e2e', 'test/processes/fleet', 'test/processes/ride-step-kills', 'test/processes/compose-scripts'];

/** Runs these tests against the cluster, by default those that depend on the server. */
export async function runTests({ address }: Cluster, files: readonly string[], onEnd: OnEnd): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-cluster-tests-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const outputFile = join(folder, 'results.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${outputFile}`];
  const vitest = join(projectRoot, 'node_modules/vitest/vitest.mjs');
  const filters = files.length > 0 ? files : chosen;
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'temporal', ...reporters, ...filters], {
    cwd: projectRoot,
    env: { ...process.env, FARETRAIL_TEST_TEMPORAL: address },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(child, 'exit');
  onEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  });
  const [code] = await ended;
  const { numPassedTests: passed, numFailedTests } = readResults(outputFile);
  // A file that does not load counts no failed tests.
  return { passed, failed: code === 0 ? 0 : Math.max(numFailedTests, 1) };
}

function readResults(path: string): { numPassedTests: number; numFailedTests: number } {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0 };
  }
}
