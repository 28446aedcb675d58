import { afterAll, beforeAll } from 'vitest';
import { type Sandbox, type SandboxOptions, sandboxCredentials, startSandbox } from '../../../dev/sandbox/sandbox.js';
import type { WorkerEnv } from '../accounts.js';
import { jsonFile } from '../json-file.js';
import { type OrderStack, startOrderStack } from '../order/stack.js';
import { bundleOf } from '../worker/runtime.js';
import { repeatsCreates } from './rides.js';

/** A business account with a service of its own, so that what one ride suffers disturbs no other. */
export interface Lane {
  account: string;
  sandbox: Sandbox;
}

interface RideLanesOptions {
  sandbox?: SandboxOptions;
  env?: WorkerEnv;
  /** Default: a ride waits for its receipt as briefly as a test can, whichever way in it came. */
  isHurried?: boolean;
}

/** A stack whose worker holds the accounts of so many lanes, for all tests of a file; they can be used from its `beforeAll` on. */
export function useRideLanes(count: number, { sandbox: options, env: more, isHurried = true }: RideLanesOptions = {}) {
  const rides = { stack: {} as OrderStack, lanes: [] as Lane[] };
  beforeAll(async () => {
    const sandboxes = await Promise.all(Array.from({ length: count }, () => startSandbox(options)));
    rides.lanes.push(...sandboxes.map((sandbox, i) => ({ account: `lane-${i}`, sandbox })));
    const env = {
      FARETRAIL_ACCOUNTS_FILE: businessAccountsFile(
        rides.lanes.map(({ account, sandbox }) => ({ account, url: sandbox.url })),
      ),
      FARETRAIL_POLL_RESERVED_MS: '500',
      ...repeatsCreates,
      ...more,
    };
    const hurried = isHurried ? { workflowBundle: await bundleOf('ride/hurried-workflows.ts') } : {};
    Object.assign(rides.stack, await startOrderStack({ env, ...hurried }));
  }, 120_000);
  afterAll(async () => {
    await rides.stack.close?.();
    await Promise.all(rides.lanes.map(({ sandbox }) => sandbox.close()));
  }, 60_000);
  return rides;
}

/** A file of business accounts, each with the address of its service. */
export function businessAccountsFile(places: readonly { account: string; url: string }[]): string {
  const { clientId, businessId } = sandboxCredentials.business;
  const clientSecret = { env: 'TEST_BUSINESS_SECRET' };
  const shared = { interface: 'business', clientId, clientSecret, businessId, requestsPerSecond: 1_000 };
  return jsonFile({
    accounts: Object.fromEntries(places.map(({ account, url }) => [account, { ...shared, baseUrl: url }])),
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
