import { readFileSync } from 'node:fs';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/sandbox.js';
import type { Finding } from '../../src/cli/probe/asking.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { textFile } from '../support/json-file.js';
import { type CliRun, nowhere, runHere } from './fake-process.js';

const open: Sandbox[] = [];
/** For `afterAll`: closes every sandbox that `serve` has started. */
export const closeServed = async (): Promise<void> => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
};

/** The order under way that `serve` puts at each interface. */
export const order = 'ride-7b21';

/** A sandbox with an order at each interface, and the probe of it. */
export async function serve(options: SandboxOptions = {}, env: WorkerEnv = {}) {
  const sandbox = await startSandbox(options);
  open.push(sandbox);
  for (const at of ['partner', 'business'] as const)
    sandbox.addOrder({ interface: at, orderId: order, script: [{ status: 'Driving', afterMs: 0 }] });
  const settings = { ...nowhere, ...workerEnv(sandbox.url), ...env };
  return { sandbox, settings, probe: (...argv: string[]): Promise<CliRun> => runHere(['probe', ...argv], settings) };
}

/** What `probe --json` prints. */
export interface ProbeAnswer {
  isAsExpected: boolean;
  findings: Finding[];
  changes: string[];
  written: string | null;
}

export const answerOf = ({ stdout }: CliRun): ProbeAnswer => JSON.parse(stdout) as ProbeAnswer;
export const verdictsOf = (run: CliRun) =>
  Object.fromEntries(answerOf(run).findings.map(({ asks, verdict }) => [asks, verdict]));

/** The path of a file that is not there yet. */
export const newFile = (): string => `${textFile('')}.json`;
export const readProfile = (file: string) => parseContractProfile(JSON.parse(readFileSync(file, 'utf8')));
