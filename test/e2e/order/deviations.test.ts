import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { type SampleOrder, sampleOrders, toSandboxOrder } from '../../../sandbox/sample-orders.js';
import { type SandboxOptions, startSandbox } from '../../../sandbox/sandbox.js';
import { runHere } from '../../cli/fake-process.js';
import { type WorkerEnv, workerEnv } from '../../support/accounts.js';
import { type Deviation, deviations } from '../../support/deviations.js';
import { textFile } from '../../support/json-file.js';
import { isLong } from '../../support/long.js';
import { type OrderStack, startOrderStack } from '../../support/order/stack.js';

const services = fc.sample(deviations, { numRuns: isLong ? 30 : 3, seed: 2026 });
const speed = 1_000;

const sandboxOf = ({ at, answer }: Deviation): SandboxOptions => ({
  speed,
  partner: { statusShape: 'flat' },
  otherAnswers: { [at === 'partner' ? 'orderStatus' : 'orderDetails']: answer },
});

/** What the probe says with the profile that it has written. */
async function probed(service: Deviation) {
  const sandbox = await startSandbox(sandboxOf(service));
  const orderId = randomUUID();
  sandbox.addOrder({ interface: service.at, orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  const file = `${textFile('')}.json`;
  const probe = (env: WorkerEnv, ...more: string[]) =>
    runHere(['probe', service.at, orderId, '--json', ...more], workerEnv(sandbox.url, env));
  await probe({}, '--write', file);
  const again = await probe({ FARETRAIL_CONTRACT_FILE: file });
  await sandbox.close();
  return { file, ...(JSON.parse(again.stdout) as { isAsExpected: boolean; findings: { remarks: string[] }[] }) };
}

/** Follows one order of each end, as the sandbox plays them. */
async function endsOf(stack: OrderStack, { at }: Deviation) {
  const { cancelled, rejected, onDemand, scheduled } = sampleOrders;
  const samples: SampleOrder[] = [at === 'partner' ? onDemand : scheduled, cancelled, rejected];
  const ends = samples.map(async (sample) => {
    const orderId = randomUUID();
    stack.sandbox.addOrder(toSandboxOrder({ ...sample, interface: at }, orderId, speed));
    const { outcome, status, terminal } = await (await stack.follow(at, orderId)).result();
    return { outcome, status, terminal };
  });
  return await Promise.all(ends);
}

const rightEnds = [
  { outcome: 'completed', status: 'Completed', terminal: true },
  { outcome: 'cancelled', status: 'Cancelled', terminal: true },
  { outcome: 'rejected', status: 'Rejected', terminal: true },
];

/** What each service came to: null where the written profile was enough, otherwise what the probe leaves to a person. */
const left = new Map<string, string[] | null>();
afterAll(() => {
  if (isLong)
    process.stdout.write(
      `${[...left].map(([name, open]) => `${name}: ${open?.join('; ') ?? 'followed'}`).join('\n')}\n`,
    );
});

it.concurrent.each(services.map((service, at) => ({ name: `${at + 1} ${JSON.stringify(service)}`, service })))(
  'a service with deviations $name is followed with what the probe wrote, or named',
  async ({ name, service }) => {
    const { file, isAsExpected, findings } = await probed(service);
    if (!isAsExpected) {
      const remarks = findings.flatMap((finding) => finding.remarks);
      const decisions = remarks.filter((text) => /(operations|pointers|statuses)\.\w+/.test(text));
      expect(decisions).not.toEqual([]);
      left.set(name, decisions);
      return;
    }
    const stack = await startOrderStack({ sandbox: sandboxOf(service), env: { FARETRAIL_CONTRACT_FILE: file } });
    expect(await endsOf(stack, service).finally(() => stack.close())).toEqual(rightEnds);
    left.set(name, null);
  },
);

it('nine of ten need no hand', () => {
  const named = [...left.values()].filter((open) => open !== null);
  expect(left.size).toBe(services.length);
  expect(named.length).toBeLessThanOrEqual(services.length / 10);
});
