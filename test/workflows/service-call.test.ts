import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { BusinessOperation, ServiceCall } from '../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { searchAttributeNames } from '../../src/domain/search-attribute-names.js';
import { businessCallStart, rideStart } from '../../src/temporal/starts.js';
import { toCallFailure } from '../../src/workflows/business-call.js';
import { newRide } from '../sandbox/booking-calls.js';
import { startTimeSkippingServer } from '../support/order/time-skipping.js';
import { quietRuntime } from '../support/worker/runtime.js';

const minute = 60_000;
const keyword = 2;
const taskQueue = 'calls';

/** What the activity does, and how often it was tried. */
let act: (call: ServiceCall) => Promise<unknown>;
let attempts: ServiceCall[];
let env: TestWorkflowEnvironment;
let workers: Worker[];
let running: Promise<unknown>;

beforeAll(async () => {
  quietRuntime();
  env = await startTimeSkippingServer();
  const searchAttributes = Object.fromEntries(Object.values(searchAttributeNames).map((name) => [name, keyword]));
  await env.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
  const callService = async (call: ServiceCall) => {
    attempts.push(call);
    return await act(call);
  };
  workers = [
    await Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: { codePath: inject('workflowBundlePath') },
    }),
    await Worker.create({
      connection: env.nativeConnection,
      taskQueue: `${taskQueue}.business`,
      activities: { callService },
    }),
  ];
  running = Promise.all(workers.map((worker) => worker.run()));
});
afterAll(async () => {
  for (const worker of workers) worker.shutdown();
  await running;
  await env.teardown();
});

async function outcomeOf(operation: BusinessOperation) {
  attempts = [];
  const key = randomUUID();
  const more = operation === 'createOrder' ? { body: {} } : {};
  const about = operation === 'cancelOrder' ? { orderId: toOrderId('4711') } : {};
  const input = { account: toAccountName('business'), operation, key, ...more, ...about };
  const handle = await env.client.workflow.start('businessCall', businessCallStart(input, taskQueue));
  const failed = await handle.result().catch((error: WorkflowFailedError) => error);
  const failure = (failed as WorkflowFailedError).cause as ApplicationFailure;
  const { startTime, closeTime } = await handle.describe();
  return { failure, tookMs: Number(closeTime) - Number(startTime), key };
}

const fail =
  (type: string, more: object = {}) =>
  async () => {
    throw ApplicationFailure.create({ type, message: 'as it was', ...more });
  };

describe('a call is tried for a bounded time', () => {
  it.each<[BusinessOperation, number]>([
    ['companySettings', 5],
    ['createOrder', 10],
    ['cancelOrder', 15],
  ])('%s: %i minutes', async (operation, minutes) => {
    act = fail('Unavailable');
    const { failure, tookMs } = await outcomeOf(operation);
    expect(failure).toMatchObject({ type: 'Unavailable', message: 'as it was', nonRetryable: true });
    // The server gives up when the next attempt would come too late; attempts are at most 30 s apart.
    expect(tookMs).toBeGreaterThan((minutes - 1) * minute);
    expect(tookMs).toBeLessThanOrEqual((minutes + 1) * minute);
    expect(attempts.length).toBeGreaterThan(minutes);
  });

  it('and each attempt has the same request id, made of nothing but the id of the run', async () => {
    act = fail('Unavailable');
    const { key } = await outcomeOf('createOrder');
    expect(new Set(attempts.map(({ requestId }) => requestId))).toEqual(new Set([`call/business/createOrder/${key}`]));
  });

  it('and not beyond a wait that the service asked for and that is longer', async () => {
    act = fail('Unavailable', { nextRetryDelay: 60 * minute });
    expect((await outcomeOf('companySettings')).failure).toMatchObject({ type: 'Unavailable' });
    expect(attempts).toHaveLength(1);
  });
});

describe('a call that takes longer than a minute', () => {
  /** The attention of a run at each attempt of its call, with the minutes since the first one. */
  function watch(workflowId: () => string) {
    const seen: { minutes: number; attention: unknown }[] = [];
    let startedAt: number | undefined;
    act = async () => {
      const now = await env.currentTimeMs();
      startedAt ??= now;
      const { searchAttributes } = await env.client.workflow.getHandle(workflowId()).describe();
      seen.push({ minutes: (now - startedAt) / minute, attention: searchAttributes.RideAttention?.[0] });
      throw ApplicationFailure.create({ type: 'Unavailable', message: 'as it was' });
    };
    return seen;
  }

  it('shows that it waits, until it has ended', async () => {
    const seen = watch(() => attempts.at(-1)?.requestId ?? '');
    const { key } = await outcomeOf('companySettings');
    const early = seen.filter(({ minutes }) => minutes < 0.9);
    expect(early.every(({ attention }) => attention === undefined)).toBe(true);
    const late = seen.filter(({ minutes }) => minutes > 1.1);
    expect(late.length).toBeGreaterThan(2);
    expect(new Set(late.map(({ attention }) => attention))).toEqual(new Set(['upstreamUnavailable']));
    const run = env.client.workflow.getHandle(`call/business/companySettings/${key}`);
    expect((await run.describe()).searchAttributes.RideAttention?.[0] ?? null).toBeNull();
  });

  it('shows on the ride that it is made for', async () => {
    attempts = [];
    const input = { account: toAccountName('business'), requestId: randomUUID(), order: newRide() };
    const start = rideStart(input, taskQueue);
    const seen = watch(() => start.workflowId);
    const handle = await env.client.workflow.start('requestRide', start);
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect(seen.at(0)?.attention).toBeUndefined();
    expect(seen.at(-1)?.attention).toBe('upstreamUnavailable');
    expect((await handle.describe()).searchAttributes.RideAttention?.[0] ?? null).toBeNull();
  });
});

describe('its failure', () => {
  it('keeps type and details of the last attempt', async () => {
    act = fail('OutcomeUnknown', { details: [{ status: 500 }] });
    expect((await outcomeOf('createOrder')).failure).toMatchObject({
      type: 'OutcomeUnknown',
      details: [{ status: 500 }],
      nonRetryable: true,
    });
  });

  it('is typed for unforeseen errors, too', async () => {
    act = fail('AccountNotHeld');
    expect((await outcomeOf('createOrder')).failure).toMatchObject({
      type: 'Unavailable',
      message: 'createOrder: as it was',
    });
  });

  // The server that skips time skips none while a task waits for a worker.
  it.each<[BusinessOperation, string]>([
    ['companySettings', 'Unavailable'],
    ['createOrder', 'OutcomeUnknown'],
  ])('of %s that no worker brought to its end is %s', (operation, type) => {
    const timeout = new TimeoutFailure('too late', undefined, 'START_TO_CLOSE');
    const given = new ActivityFailure('failed', 'callService', '1', 'TIMEOUT', undefined, timeout);
    expect(toCallFailure(given, { operation, account: toAccountName('nobody') })).toMatchObject({
      type,
      nonRetryable: true,
      message: expect.stringContaining('account nobody'),
    });
  });
});
