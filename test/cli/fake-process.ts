import type { CliProcess } from '../../src/cli/command.js';
import { runCli } from '../../src/cli/program.js';
import { loadCliConfig, loadConfig } from '../../src/config.js';
import type { Env } from '../../src/settings/env-reader.js';

export interface CliRun {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Nothing listens there, so a command that connects fails with `TemporalUnreachable`. */
export const nowhere: Env = {
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml',
};

/** Where nothing listens a refusal is final at once; a server that shares a busy machine with the test may take its time. */
const patienceWith = ({ TEMPORAL_ADDRESS }: Env): number =>
  TEMPORAL_ADDRESS === nowhere.TEMPORAL_ADDRESS ? 300 : 30_000;

/** A process of a command that keeps what the command prints. */
export function fakeProcess(env: Env = nowhere, more: Partial<CliProcess> = {}) {
  const output = { stdout: '', stderr: '' };
  const process: CliProcess = {
    env,
    stdout: { write: (text) => (output.stdout += text) },
    stderr: { write: (text) => (output.stderr += text) },
    loadSettings: loadCliConfig,
    loadSettingsWithSecrets: loadConfig,
    connectWithinMs: patienceWith(env),
    userName: 'tester',
    onInterrupt: () => () => undefined,
    ...more,
  };
  return { process, output };
}

/** Runs a command line in this process. */
export async function runHere(argv: string[], env?: Env, more?: Partial<CliProcess>): Promise<CliRun> {
  const { process, output } = fakeProcess(env, more);
  return { exitCode: await runCli(argv, process), ...output };
}
