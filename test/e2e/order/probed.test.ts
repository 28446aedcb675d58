import { expect, it } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../dev/sandbox/sandbox.js';
import { runHere } from '../../cli/fake-process.js';
import { workerEnv } from '../../support/accounts.js';
import { textFile } from '../../support/json-file.js';
import { shows, useOrderStack } from '../../support/order/stack.js';

/** A service whose answers about orders the built-in profile cannot read. */
const stranger: SandboxOptions = {
  otherAnswers: {
    orderStatus: { status: 203, under: ['result'], beside: { status: 'fine' } },
    orderDetails: { under: ['ride', 'current'], names: { status: 'phase', id: 'ride_ref' } },
  },
};

/** The profile that the probe writes of it, account by account: each begins with the file of the one before. */
async function probed(): Promise<string> {
  const sandbox = await startSandbox(stranger);
  let file = textFile('{}');
  for (const at of ['partner', 'business'] as const) {
    sandbox.addOrder({ interface: at, orderId: '7b21', script: [{ status: 'Routing', afterMs: 0 }] });
    const env = workerEnv(sandbox.url, { FARETRAIL_CONTRACT_FILE: file });
    file = `${file}.${at}.json`;
    expect((await runHere(['probe', at, '7b21', '--write', file], env)).exitCode).toBe(1);
  }
  await sandbox.close();
  return file;
}

const stack = useOrderStack(async () => ({
  ...{ sandbox: stranger, env: { FARETRAIL_CONTRACT_FILE: await probed() } },
  clockAheadMs: 180_000,
}));

it.each(['partner', 'business'] as const)(
  'an order of %s is followed with the profile that the probe wrote, and no instant of its trail lies in the future, though the clock of the worker is ahead',
  async (at) => {
    const orderId = stack.newOrder(at, [['Routing', 0]]);
    const handle = await stack.follow(at, orderId);
    await shows(handle, { status: 'Routing', attention: null });
    stack.sandbox.setStatus(at, orderId, 'Driving');
    await shows(handle, { status: 'Driving' });
    stack.sandbox.setStatus(at, orderId, 'Completed');
    const { since, timeline, ...trail } = await handle.result();
    expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed', terminal: true });
    expect(timeline.map(({ status }) => status)).toEqual(['Routing', 'Driving', 'Completed']);
    for (const instant of [since, ...timeline.map((entry) => entry.at)])
      expect(Date.parse(instant)).toBeLessThanOrEqual(Date.now() + 1_000);
  },
);
