import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type AttemptEnd, type BusinessOperation, passingTrouble, type ServiceCall } from '../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { searchAttributeNames } from '../../src/domain/search-attribute-names.js';
import { businessCallStart, rideStart } from '../../src/temporal/starts.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { attributeOf } from '../support/runs.js';
import { startTimeSkippingServer, type TimeSkippingServer } from '../support/server/time-skipping-server.js';
import { quietRuntime } from '../support/worker/runtime.js';

const minute = 60_000;
const keyword = 2;
const taskQueue = 'calls';

/** What the activity does, and how often it was tried. */
let act: (call: ServiceCall) => Promise<{ message: string; afterMs?: number }>;
let attempts: ServiceCall[];
let server: TimeSkippingServer;
let env: TestWorkflowEnvironment;
let workers: Worker[];
let running: Promise<unknown>;

beforeAll(async () => {
  quietRuntime();
  server = await startTimeSkippingServer();
  env = server.env;
  const searchAttributes = Object.fromEntries(Object.values(searchAttributeNames).map((name) => [name, keyword]));
  await env.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
  /** An attempt tells of its failure, and does not fail. */
  const attemptCall = async (call: ServiceCall): Promise<AttemptEnd> => {
    attempts.push(call);
    const { message, afterMs } = await act(call);
    return { kind: 'failed', sent: 'no', trouble: { ...passingTrouble(call, message), afterMs } };
  };
  const connection = env.nativeConnection;
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  workers = [
    // A create that could not be sent asks if another run may have sent it before a reset.
    await Worker.create({ connection, taskQueue, workflowBundle, activities: { wasRideReset: async () => false } }),
    await Worker.create({ connection, taskQueue: `${taskQueue}.business`, activities: { attemptCall } }),
  ];
  running = Promise.all(workers.map((worker) => worker.run()));
});
afterAll(async () => {
  for (const worker of workers) worker.shutdown();
  await running;
  await server.close();
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

describe('the worker tries a call for a bounded time', () => {
  it.each<[BusinessOperation, number]>([
    ['companySettings', 5],
    ['createOrder', 10],
    ['cancelOrder', 15],
  ])('%s for %i minutes', async (operation, minutes) => {
    act = async () => ({ message: 'as it was' });
    const { failure, tookMs } = await outcomeOf(operation);
    const message = expect.stringMatching(/as it was$/);
    expect(failure).toMatchObject({ type: 'Unavailable', message, nonRetryable: true });
    // The run gives up when the next attempt would come too late; attempts are at most 30 s apart.
    expect(tookMs).toBeGreaterThan((minutes - 1) * minute);
    expect(tookMs).toBeLessThanOrEqual((minutes + 1) * minute);
    expect(attempts.length).toBeGreaterThan(minutes);
  });

  it('and gives up at once when the service asks for a longer wait', async () => {
    act = async () => ({ message: 'as it was', afterMs: 60 * minute });
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
      return { message: 'as it was' };
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
