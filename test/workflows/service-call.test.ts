import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  type AttemptEnd,
  type BusinessOperation,
  passingTrouble,
  type ServiceCall,
  toCallFailure,
} from '../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { searchAttributeNames } from '../../src/domain/search-attribute-names.js';
import { businessCallStart, rideStart } from '../../src/temporal/starts.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { startTimeSkippingServer } from '../support/order/time-skipping.js';
import { attributeOf } from '../support/runs.js';
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
  /** An attempt of a changing call tells of its failure, and does not fail. */
  const attemptCall = (call: ServiceCall): Promise<AttemptEnd> =>
    callService(call).then(
      () => ({ kind: 'noEffect' }),
      (error: ApplicationFailure) => ({ kind: 'failed', sent: 'no', trouble: passingTrouble(call, error.message) }),
    );
  const connection = env.nativeConnection;
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  workers = [
    await Worker.create({ connection, taskQueue, workflowBundle }),
    await Worker.create({ connection, taskQueue: `${taskQueue}.business`, activities: { callService, attemptCall } }),
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

describe('the worker tries a call for a bounded time', () => {
  it.each<[BusinessOperation, number]>([
    ['companySettings', 5],
    ['createOrder', 10],
    ['cancelOrder', 15],
  ])('%s for %i minutes', async (operation, minutes) => {
    act = fail('Unavailable');
    const { failure, tookMs } = await outcomeOf(operation);
    const message = expect.stringMatching(/as it was$/);
    expect(failure).toMatchObject({ type: 'Unavailable', message, nonRetryable: true });
    // The server gives up when the next attempt would come too late; attempts are at most 30 s apart.
    expect(tookMs).toBeGreaterThan((minutes - 1) * minute);
    expect(tookMs).toBeLessThanOrEqual((minutes + 1) * minute);
    expect(attempts.length).toBeGreaterThan(minutes);
  });

  it('and gives up at once when the service asks for a longer wait', async () => {
    act = fail('Unavailable', { nextRetryDelay: 60 * minute });
    expect((await outcomeOf('companySettings')).failure).toMatchObject({ type: 'Unavailable' });
    expect(attempts).toHaveLength(1);
  });
});

describe('a call that takes longer than a minute', () => {
  const attentionOf = (workflowId: string) => attributeOf(env.client.workflow.getHandle(workflowId), 'RideAttention');

  /** The attention of a run at each attempt of its call, with the minutes since the first one. */
  function watch(workflowId: () => string) {
    const seen: { minutes: number; attention: unknown }[] = [];
    let startedAt: number | undefined;
    act = async () => {
      const now = await env.currentTimeMs();
      startedAt ??= now;
      seen.push({ minutes: (now - startedAt) / minute, attention: await attentionOf(workflowId()) });
      throw ApplicationFailure.create({ type: 'Unavailable', message: 'as it was' });
    };
    return seen;
  }

  it('shows that it waits for the service, until it has ended', async () => {
    const seen = watch(() => attempts.at(-1)?.requestId ?? '');
    const { key } = await outcomeOf('companySettings');
    const shownWhere = (isThen: (minutes: number) => boolean) =>
      seen.filter(({ minutes }) => isThen(minutes)).map(({ attention }) => attention);
    expect(new Set(shownWhere((minutes) => minutes < 0.9))).toEqual(new Set([null]));
    expect(shownWhere((minutes) => minutes > 1.1).length).toBeGreaterThan(2);
    expect(new Set(shownWhere((minutes) => minutes > 1.1))).toEqual(new Set(['upstreamUnavailable']));
    expect(await attentionOf(`call/business/companySettings/${key}`)).toBeNull();
  });

  it('shows it on the ride for which it is made', async () => {
    attempts = [];
    const input = { account: toAccountName('business'), requestId: randomUUID(), order: newRide() };
    const start = rideStart(input, taskQueue);
    const seen = watch(() => start.workflowId);
    const handle = await env.client.workflow.start('requestRide', start);
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect(seen.at(0)?.attention).toBeNull();
    expect(seen.at(-1)?.attention).toBe('upstreamUnavailable');
    expect(await attentionOf(handle.workflowId)).toBeNull();
  });
});

describe('the failure of a call', () => {
  it('has the type Unavailable after an unforeseen error', async () => {
    act = fail('AccountNotHeld');
    const failure = { type: 'Unavailable', message: 'companySettings of account business: as it was' };
    expect((await outcomeOf('companySettings')).failure).toMatchObject(failure);
  });

  // The server that skips time skips none while a task waits for a worker.
  it('names the account when no worker brought a read to its end', () => {
    const failure = toCallFailure(null, { operation: 'companySettings', account: toAccountName('nobody') });
    expect(failure).toMatchObject({ type: 'Unavailable', message: expect.stringContaining('account nobody') });
  });
});
