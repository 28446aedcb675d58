import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { createTokenSource, type TokenSource } from '../../../src/activities/index.js';
import { toAccountName, toScope } from '../../../src/domain/keys.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { createTokenLeases } from '../../../src/temporal/token-leases.js';
import { shows, startOrderStack, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { eventsOf } from '../../support/runs.js';
import { leaseStart } from '../../support/token/leases.js';

const stack = useOrderStack();
beforeEach(() => stack.sandbox.resetLedger());

/** Hundreds of sources share this process with a server: on a busy machine a deadline of seconds would be too short. */
const unhurriedMs = 90_000;
const startedAt = Date.now();
/** The time that sources give up by passes at a tenth of its speed. */
const slowly = () => startedAt + (Date.now() - startedAt) / 10;

const business = () => stack.config.accounts.find(({ name }) => name === 'business') ?? expect.fail('no account');
const tokenRequests = () => stack.sandbox.ledger({ operation: 'businessToken' }).length;

/** So many sources, each as a process of its own has it. */
function sources(count: number): TokenSource[] {
  const sealer = createSealer(stack.config.sealingKeys);
  const leases = createTokenLeases(stack.client, stack.config.taskQueue, unhurriedMs);
  return Array.from({ length: count }, () =>
    createTokenSource({
      leases,
      unseal: sealer.unseal,
      credentialId: ({ clientId, clientSecret }) => sealer.keyedHash(clientId, clientSecret),
      monotonic: slowly,
    }),
  );
}

it('500 cold token sources at once cost one token request, and all are served', async () => {
  const account = business();
  const tokens = await Promise.all(sources(500).map((source) => source.get(account, toScope('order'))));
  expect(new Set(tokens.map(({ value }) => value)).size).toBe(1);
  expect(tokenRequests()).toBe(1);
});

it('a lease requests its token on the queue of its account, ahead of all calls', async () => {
  const lease = await stack.client.workflow.start('accessToken', leaseStart(stack));
  await lease.signal('renewToken', { insteadOf: null });
  await expect.poll(async () => (await lease.describe()).memo).toMatchObject({ lease: { renewals: 1 } });
  const asked = (await eventsOf(lease)).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  await lease.terminate();
  const queues = asked.map(({ taskQueue, priority }) => [taskQueue?.name, priority?.priorityKey]);
  expect(queues).toEqual([[`${stack.config.taskQueue}.business`, 1]]);
});

const secondsOf = (event: Awaited<ReturnType<typeof eventsOf>>[number] | undefined): number =>
  Number(event?.eventTime?.seconds) + (event?.eventTime?.nanos ?? 0) / 1e9;

it('a token request gets through a crowd of calls that wait for its token', async () => {
  const slots = 4;
  const crowded = await startOrderStack({ options: { maxConcurrentActivityTaskExecutions: slots } });
  onTestFinished(() => crowded.close());
  const orderIds = Array.from({ length: 10 * slots }, () => crowded.newOrder('business', [['Driving', 0]]));
  const orders = await Promise.all(orderIds.map((orderId) => crowded.follow('business', orderId)));
  await Promise.all(orders.map((order) => shows(order, { status: 'Driving' })));
  const query = `WorkflowType = 'accessToken' AND TaskQueue = '${crowded.config.taskQueue}'`;
  const { value } = await crowded.client.workflow.list({ query })[Symbol.asyncIterator]().next();
  const events = await eventsOf(crowded.client.workflow.getHandle(value?.workflowId ?? ''));
  const begun = secondsOf(events.find((event) => event.activityTaskStartedEventAttributes));
  const waited = begun - secondsOf(events.find((event) => event.activityTaskScheduledEventAttributes));
  expect(waited).toBeLessThan(5); // calls that fill all slots give up only after ten seconds
  expect(crowded.sandbox.ledger({ operation: 'businessToken' })).toHaveLength(1);
});

it('a worker that starts later, with its clock ahead, knows when the token of the fleet ends', async () => {
  const late = await startOrderStack({ clockAheadMs: 600_000, sandbox: { business: { tokenLifetimeSeconds: 24 } } });
  onTestFinished(() => late.close());
  const read = async () =>
    shows(await late.follow('business', late.newOrder('business', [['Driving', 0]])), { status: 'Driving' });
  await read();
  await late.stopWorker();
  await pause(5_000);
  await late.startWorker();
  for (const end = Date.now() + 22_000; Date.now() < end; await pause(500)) await read();
  expect(late.sandbox.ledger({ operation: 'orderDetails' }).filter(({ httpStatus }) => httpStatus === 401)).toEqual([]);
});

it('a lease goes ahead of the runs that waited for a worker longer', async () => {
  await stack.stopWorker();
  const orderIds = Array.from({ length: 150 }, () => stack.newOrder('business', [['Driving', 0]]));
  const orders = await Promise.all(orderIds.map((orderId) => stack.follow('business', orderId)));
  const key = { account: toAccountName('business'), scope: toScope(randomUUID()), credentialId: randomUUID() };
  await createTokenLeases(stack.client, stack.config.taskQueue).renew(key, null);
  const lease = stack.client.workflow.getHandle(accessTokenId(key));

  await stack.startWorker();
  const firstTaskAt = async (run: typeof lease): Promise<number> => {
    const isStarted = (events: Awaited<ReturnType<typeof eventsOf>>) =>
      events.find((event) => event.workflowTaskStartedEventAttributes);
    return secondsOf(
      await vi.waitFor(async () => isStarted(await eventsOf(run)) ?? expect.fail('no task yet'), patient),
    );
  };
  const [leaseAt = 0, ...orderAts] = await Promise.all([lease, ...orders].map(firstTaskAt));
  expect(orderAts.filter((at) => at < leaseAt).length).toBeLessThan(orders.length / 3);
  await Promise.all(orders.map((order) => order.terminate()));
});
