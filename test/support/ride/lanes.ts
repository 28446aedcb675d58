import { fileURLToPath } from 'node:url';
import { DefaultLogger } from '@temporalio/worker';
import { type Sandbox, type SandboxOptions, sandboxCredentials, startSandbox } from '../../../sandbox/sandbox.js';
import { bundleWorkflows } from '../../../src/temporal/workflow-code.js';
import type { WorkerEnv } from '../accounts.js';
import { jsonFile } from '../json-file.js';
import { type OrderStack, startOrderStack } from '../order/stack.js';

/** A business account with a service of its own, so that what one ride suffers disturbs no other. */
export interface Lane {
  account: string;
  sandbox: Sandbox;
}

/** A stack whose worker holds the accounts of all lanes. */
export interface RideLanes {
  stack: OrderStack;
  lanes: Lane[];
  close(): Promise<void>;
}

interface RideLanesOptions {
  sandbox?: SandboxOptions;
  env?: WorkerEnv;
  /** Default: a ride waits for its receipt as briefly as a test can, whichever way in it came. */
  isHurried?: boolean;
}

export async function startRideLanes(
  count: number,
  { sandbox: options, env: more, isHurried = true }: RideLanesOptions = {},
): Promise<RideLanes> {
  const lanes = await Promise.all(
    Array.from({ length: count }, async (_, i) => ({ account: `lane-${i}`, sandbox: await startSandbox(options) })),
  );
  const hurried = fileURLToPath(new URL('./hurried-workflows.ts', import.meta.url));
  const env = { FARETRAIL_ACCOUNTS_FILE: accountsFile(lanes), FARETRAIL_POLL_RESERVED_MS: '500', ...more };
  const code = isHurried ? await bundleWorkflows(hurried, new DefaultLogger('ERROR')) : undefined;
  const stack = await startOrderStack({ env, ...(code && { workflowBundle: { code } }) });
  return {
    stack,
    lanes,
    async close() {
      await stack.close();
      await Promise.all(lanes.map(({ sandbox }) => sandbox.close()));
    },
  };
}

function accountsFile(lanes: Lane[]): string {
  const { clientId, businessId } = sandboxCredentials.business;
  const clientSecret = { env: 'TEST_BUSINESS_SECRET' };
  const shared = { interface: 'business', clientId, clientSecret, businessId, requestsPerSecond: 1_000 };
  return jsonFile({
    accounts: Object.fromEntries(lanes.map(({ account, sandbox }) => [account, { ...shared, baseUrl: sandbox.url }])),
  });
}

/** Does everything, one after the other on each lane and all lanes at the same time. Gives what went wrong, by its name. */
export async function alongLanes<Task extends { name: string }>(
  lanes: readonly Lane[],
  tasks: readonly Task[],
  act: (lane: Lane, task: Task) => Promise<void>,
): Promise<string[]> {
  const waiting = [...tasks];
  const wrong: string[] = [];
  const run = async (lane: Lane): Promise<void> => {
    for (let task = waiting.shift(); task; task = waiting.shift()) {
      const { name } = task;
      await act(lane, task).catch((error: unknown) => wrong.push(`${name}: ${String(error)}`));
    }
  };
  await Promise.all(lanes.map(run));
  return wrong;
}
