import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { afterEach, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { findDevServer, startDevServer } from '../../../local/temporal/dev-server.js';
import { mostCallsWithin } from '../../../sandbox/ledger-questions.js';
import {
  type CallInput,
  createFaretrailClient,
  type FaretrailClient,
  type FaretrailClientError,
} from '../../../src/client/index.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { createRunCounts } from '../../../src/temporal/counts.js';
import { readEndedOrder } from '../../../src/temporal/single-reads.js';
import { readCallStart } from '../../../src/temporal/starts.js';
import { runHere } from '../../cli/fake-process.js';
import { workerEnv } from '../../support/accounts.js';
import { startCall } from '../../support/call/calls.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { failureOf } from '../../support/ride/rides.js';

const account = toAccountName('business');
const stack = useOrderStack();
let rides: FaretrailClient;
beforeAll(() => {
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});
afterEach(() => stack.sandbox.clearFaults());

const newRead = () => ({
  ...{ account, operation: 'orderDetails' as const, key: randomUUID() },
  orderId: toOrderId(stack.newOrder('business', [['Driving', 0]])),
});
type NewRead = ReturnType<typeof newRead>;

const idOf = ({ operation, key }: Pick<NewRead, 'key'> & { operation: string }) => `call/business/${operation}/${key}`;
const activityOf = (read: NewRead) => stack.client.activity.getHandle(idOf(read));
const workflowOf = (read: NewRead) => stack.client.workflow.getHandle(idOf(read));
const requestsOf = ({ orderId }: NewRead) => stack.sandbox.ledger({ operation: 'orderDetails', orderId }).length;
/** A call on a task queue that no worker polls. */
const away = () => createFaretrailClient({ client: stack.client, taskQueue: `unserved-${randomUUID()}` });

describe('a read', () => {
  it('is one activity without a workflow, listed under its account, and goes ahead of polls', async () => {
    const read = newRead();
    const answer = { operation: 'orderDetails', status: 200, body: { id: read.orderId, status: 'Driving' } };
    expect(await rides.call(read)).toMatchObject(answer);
    await expect(workflowOf(read).describe()).rejects.toThrow(WorkflowNotFoundError);
    const made = await activityOf(read).describe();
    expect(made).toMatchObject({
      ...{ activityType: 'callService', status: 'COMPLETED', taskQueue: `${stack.config.taskQueue}.business` },
      priority: { priorityKey: 1 },
      scheduleToCloseTimeoutMs: 300_000,
    });
    const query = `ActivityId = '${idOf(read)}' AND RideAccount = 'business'`;
    await vi.waitFor(async () => expect((await stack.client.activity.count(query)).count).toBe(1), patient);
  });

  it('of the same key joins the one under way, and gets the outcome of the ended one: one request in all', async () => {
    const read = newRead();
    const [one, two] = await Promise.all([rides.call(read), rides.call(read)]);
    expect(two).toEqual(one);
    stack.sandbox.setStatus('business', read.orderId, 'Completed');
    expect(await rides.call(read)).toEqual(one);
    expect(requestsOf(read)).toBe(1);
    const unknown = { ...newRead(), orderId: 'never-made' };
    const failed = await rides.call(unknown).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'OrderNotFound' });
    await expect(rides.call(unknown)).rejects.toMatchObject({ message: (failed as Error).message });
  });

  it('whose key a workflow has used gets the outcome of that workflow', async () => {
    const read = newRead();
    const first = await (await startCall(stack, 'orderDetails', read)).result();
    stack.sandbox.setStatus('business', read.orderId, 'Completed');
    expect(await rides.call(read)).toEqual(first);
    expect(requestsOf(read)).toBe(1);
  });

  it('keeps its outcome when another program uses its key for a workflow later', async () => {
    const read = newRead();
    const first = await rides.call(read);
    stack.sandbox.setStatus('business', read.orderId, 'Completed');
    const later = await (await startCall(stack, 'orderDetails', read)).result();
    expect(later.body).toMatchObject({ status: 'Completed' });
    expect(await rides.call(read)).toEqual(first);
  });

  it.each<[string, () => Partial<CallInput>, () => void]>([
    ['an unknown order', () => ({ orderId: 'never-made' }), () => undefined],
    ['a refusal of the account', () => ({}), () => stack.sandbox.setFault({ kind: 'forbidden', times: 1 })],
    ['a body that is none', () => ({ operation: 'products', orderId: undefined, body: {} }), () => undefined],
    ['an account at the other interface', () => ({ account: 'partner' }), () => undefined],
  ])('fails as its workflow does: %s', async (_, more, disturb) => {
    const input = { ...newRead(), ...more() };
    disturb();
    const { code, details, message } = await rides.call(input as CallInput).then(
      () => expect.fail('it did not fail'),
      (error: FaretrailClientError) => error,
    );
    disturb();
    const asWorkflow = startCall(stack, input.operation, { ...input, key: randomUUID() } as never);
    const failure = await failureOf((await asWorkflow).result());
    // Each request has its own id in the sandbox's answer.
    const withoutId = (text: string) => text.replace(/request [0-9a-f-]{36}/, '');
    expect({ type: code, details, message: withoutId(message) }).toEqual({
      ...{ type: failure.type, details: failure.details, message: withoutId(failure.message) },
    });
  });

  it('that an operator ends says so by code', async () => {
    const reads = [newRead(), newRead()];
    const calls = reads.map((read) => away().call(read));
    for (const call of calls) call.catch(() => undefined);
    const [first, second] = reads.map((read) => activityOf(read));
    await vi.waitFor(() => Promise.all([first?.describe(), second?.describe()]), patient);
    await first?.terminate('by an operator');
    await second?.cancel('by an operator');
    await expect(calls[0]).rejects.toMatchObject({ code: 'Terminated' });
    await expect(calls[1]).rejects.toMatchObject({ code: 'Cancelled' });
  });

  it('is Unavailable when no worker has brought it to its end in time', async () => {
    const read = newRead();
    const start = { ...readCallStart(read, `unserved-${randomUUID()}`), scheduleToCloseTimeout: 500 };
    await stack.client.activity.start('callService', start);
    const message = expect.stringContaining('no worker of account business');
    await expect(rides.call(read)).rejects.toMatchObject({ code: 'Unavailable', message });
  });

  it('is repeated while the service is in trouble', async () => {
    const read = newRead();
    stack.sandbox.setFault({ kind: 'serverError', orderId: read.orderId, times: 1 });
    expect(await rides.call(read)).toMatchObject({ status: 200 });
    expect(requestsOf(read)).toBe(2);
  });
});

it('a read is a workflow where the server starts no activities by themselves; it is asked once per connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-test-'));
  const server = await startDevServer({
    program: await findDevServer(() => undefined),
    databaseFile: join(folder, 'temporal.db'),
    dynamicConfig: { 'activity.enableStandalone': 'false' },
  });
  const asked: string[] = [];
  const connection = await Connection.connect({
    address: server.address,
    interceptors: [
      (options, next) => {
        asked.push(options.method_definition.path.split('/').at(-1) ?? '');
        return next(options) as never;
      },
    ],
  });
  onTestFinished(async () => {
    await connection.close();
    await server.stop();
  });
  const client = new Client({ connection });
  const there = createFaretrailClient({ client });
  for (const key of ['first', 'second']) {
    const call = there.call({ account, operation: 'companySettings', key });
    call.catch(() => undefined);
    const run = client.workflow.getHandle(`call/business/companySettings/${key}`);
    await vi.waitFor(async () => expect(await run.describe()).toMatchObject({ type: 'businessCall' }), patient);
    await run.terminate('enough seen');
    await expect(call).rejects.toMatchObject({ code: 'Terminated' });
  }
  expect(asked.filter((name) => name === 'StartActivityExecution')).toHaveLength(1);
  expect(asked.filter((name) => name === 'StartWorkflowExecution')).toHaveLength(2);
  const ended = readEndedOrder(client, 'q', newRead(), { rawStatus: null, since: new Date().toISOString() });
  await expect(ended).rejects.toMatchObject({ code: 'NotOffered' });
});

describe('what a read shows', () => {
  const cli = (...argv: string[]) =>
    runHere([...argv, '--json'], {
      ...{ TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: stack.config.taskQueue, PATH: '' },
    });

  it('the command call tells an earlier read of the key, and its outcome', async () => {
    const { key, orderId } = newRead();
    const call = ['call', 'business', 'orderDetails', '--order', orderId, '--key', key];
    const [first, second] = [await cli(...call), await cli(...call)];
    expect(JSON.parse(first.stdout)).toMatchObject({ state: 'started', result: { body: { id: orderId } } });
    expect(JSON.parse(second.stdout)).toMatchObject({ state: 'alreadyEnded', result: { body: { id: orderId } } });
  });

  it('attention when it has been open for a minute: in the command and in the counts of the worker', async () => {
    const read = newRead();
    const taskQueue = `unserved-${randomUUID()}`;
    const start = readCallStart(read, taskQueue);
    await stack.client.activity.start('callService', start);
    onTestFinished(() => stack.client.activity.getHandle(start.id).terminate('enough seen'));
    const listed = async () => {
      const { runs } = JSON.parse((await cli('attention', '--account', 'business', '--limit', '1000')).stdout);
      return runs.find(({ workflowId }: { workflowId: string }) => workflowId === start.id);
    };
    const counted = async () => (await createRunCounts(stack.client, taskQueue)())?.attention.upstreamUnavailable;
    await vi.waitFor(async () => {
      const query = `ActivityId = '${start.id}'`;
      expect((await stack.client.activity.count(query)).count).toBe(1);
    }, patient);
    expect([await listed(), await counted()]).toEqual([undefined, 0]);
    const now = vi
      .spyOn(Date, 'now')
      .mockImplementation(() => Math.trunc(performance.timeOrigin + performance.now()) + 61_000);
    onTestFinished(() => now.mockRestore());
    expect(await listed()).toMatchObject({
      ...{ kind: 'call', account: 'business', id: `orderDetails/${read.key}`, code: 'upstreamUnavailable' },
      command: 'doctor',
    });
    expect(await counted()).toBe(1);
  });
});

describe('the request budget of an account', () => {
  const narrow = useOrderStack(() => ({ env: workerEnv(stack.sandbox.url, {}, { requestsPerSecond: 2 }) }));

  it('holds for reads, of which each attempt counts', async () => {
    const there = createFaretrailClient({ client: narrow.client, taskQueue: narrow.config.taskQueue });
    const { orderId } = newRead();
    await Promise.all(
      Array.from({ length: 16 }, () => there.call({ account, operation: 'orderDetails', key: randomUUID(), orderId })),
    );
    const calls = stack.sandbox.ledger({ operation: 'orderDetails', orderId });
    expect(calls.length).toBeGreaterThanOrEqual(16);
    // Two a second, a burst of one second, and what a busy machine has delayed.
    expect(mostCallsWithin(4_000, calls)).toBeLessThanOrEqual(12);
  });
});
