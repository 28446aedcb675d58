import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WorkflowHandle, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { parkedDeliveryId, subscriptionId } from '../../../src/domain/workflow-ids.js';
import { runOf } from '../../../src/temporal/runs.js';
import { newDelivery } from '../../support/delivery/deliveries.js';
import { isLong } from '../../support/long.js';
import { resetPoints, resetRun } from '../../support/operator.js';
import { startFollowing, useOrderStack } from '../../support/order/stack.js';
import { requestedRide } from '../../support/ride/rides.js';
import { eventsOf, isPending } from '../../support/runs.js';
import { webhookEnv } from '../../support/subscription/subscriptions.js';

// A caller with only Temporal's SDK sends each update at many moments of a run's life. The answer is a result, a
// failure of ours, or "not found"; never "unexpected workflow task failure", with which the server drops an update.

const stack = useOrderStack({ env: webhookEnv() });

/** Every second order and ride is in trouble: its reads wait in slow retries. */
let started = 0;
function inTrouble(orderId: string): void {
  started += 1;
  if (started % 2 === 0) stack.sandbox.setFault({ kind: 'forbidden', orderId });
}

const reason = 'a test';
const publicUrl = 'http://127.0.0.1:9/base';

async function order(limits?: { maxEvents: number; maxSignals: number }): Promise<WorkflowHandle> {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  inTrouble(orderId);
  return await startFollowing(stack, { account: 'business', orderId }, limits && { limits });
}

async function ride(): Promise<WorkflowHandle> {
  return (await requestedRide(stack)).handle;
}

async function parked(): Promise<WorkflowHandle> {
  const { deliveryId, ...delivery } = newDelivery();
  const sealed = 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl';
  return await stack.client.workflow.start('parkedDelivery', {
    workflowId: parkedDeliveryId({ account: toAccountName('business'), deliveryId }),
    taskQueue: stack.config.taskQueue,
    args: [{ account: 'business', deliveryId, ...delivery, reason: 'noOrderId', sealed }],
  });
}

async function subscription(): Promise<WorkflowHandle> {
  const key = { account: 'business', eventType: 'business_report' } as const;
  return await stack.client.workflow.start('subscription', {
    workflowId: `${subscriptionId({ ...key, account: toAccountName(key.account) })}/${randomUUID()}`,
    taskQueue: stack.config.taskQueue,
    args: [{ ...key, publicUrl }],
  });
}

/** All updates, by the workflows that take them. */
const updates: Record<string, { start(): Promise<WorkflowHandle>; args: unknown[] }> = {
  refreshOrder: { start: order, args: [] },
  stopFollowing: { start: order, args: [{ reason }] },
  updateRide: { start: ride, args: [{ order: { note_to_driver: 'blue door' } }] },
  cancelRide: { start: ride, args: [] },
  resolveRide: { start: ride, args: [{ giveUp: true, reason }] },
  rotateSubscription: { start: subscription, args: [{ graceMs: 0 }] },
  moveSubscription: { start: subscription, args: [{ publicUrl: 'http://127.0.0.1:9/moved', graceMs: 0 }] },
  endSubscription: { start: subscription, args: [{ reason }] },
  routeDelivery: { start: parked, args: [{ orderId: '4711' }] },
  discardDelivery: { start: parked, args: [{ reason }] },
};

/** Numbers in [0, 1), the same in each run of the test. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

type Moment = (run: WorkflowHandle, name: string) => Promise<unknown>;
const after =
  (ms: number): Moment =>
  () =>
    sleep(ms);
/** Messages that the run ignores, one after the other, until the answer is there. */
const flooded = new Set<Promise<unknown>>();
function flood(run: WorkflowHandle): void {
  const sending = (async () => {
    for (let sent = 0; sent < 40; sent += 1) await run.signal('ignored', sent).catch(() => undefined);
  })();
  flooded.add(sending);
}

const random = randoms(50);
const moments: Record<string, Moment> = {
  'at the start': after(0),
  'while signals come': async (run) => {
    await sleep(1_500);
    flood(run);
    await sleep(30);
  },
  'beside a cancellation of the run': async (run) => void (await run.cancel()),
  'just after a cancellation of the run': async (run) => {
    await sleep(800);
    await run.cancel();
    await sleep(3);
  },
  'beside the same update': async (run, name) => {
    await sleep(900);
    void run.executeUpdate(name, { args: updates[name]?.args as [] }).catch(() => undefined);
  },
  'just after the same update': async (run, name) => {
    await sleep(1_200);
    await run.executeUpdate(name, { args: updates[name]?.args as [] }).catch(() => undefined);
  },
  'after a termination': async (run) => {
    await sleep(500);
    await run.terminate();
  },
  'beside a delivery': async (run) => {
    await sleep(1_000);
    await run.signal('deliveryReceived', { deliveries: [newDelivery()] }).catch(() => undefined);
  },
  ...Object.fromEntries(
    Array.from({ length: isLong ? 60 : 12 }, () => Math.floor(random() * 3_000)).map((ms) => [
      `after ${ms} ms`,
      after(ms),
    ]),
  ),
};

const withinMs = 240_000; // bounds a hang; a busy machine takes a minute and more

/** What a caller with the SDK alone gets. Rejects where it is none of what may be. */
async function answerTo(run: WorkflowHandle, name: string, args: unknown[]): Promise<string> {
  const plain = stack.client.workflow.getHandle(run.workflowId);
  try {
    await stack.client.withDeadline(Date.now() + withinMs, () => plain.executeUpdate(name, { args: args as [] }));
    return 'result';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'not found';
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
      const { type } = error.cause;
      if (type && ours.has(type)) return type;
    }
    throw error;
  }
}

/** The failure types of our updates. */
const ours = new Set([
  'AlreadyDecided',
  'Cancelled',
  'Forbidden',
  'NotRead',
  'NotRouted',
  'OrderNotFound',
  'OutcomeUnknown',
  'Refused',
  'SubscriptionEnded',
]);

/** Failed tasks, except those that the server made again because something had come meanwhile: they lose nothing. */
const failedTasks = async (run: WorkflowHandle): Promise<number> =>
  (await eventsOf(run)).filter(
    ({ workflowTaskFailedEventAttributes: failed }) => failed && failed.cause !== somethingCame,
  ).length;
const somethingCame = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;

async function all(names: string[], at: Record<string, Moment>): Promise<string[]> {
  const wrong: string[] = [];
  const cases = names.flatMap((name) => Object.entries(at).map(([when, moment]) => ({ name, when, moment })));
  await Promise.all(
    cases.map(async ({ name, when, moment }) => {
      const { start, args = [] } = updates[name] ?? expect.fail(name);
      const run = await start();
      await moment(run, name);
      await answerTo(run, name, args).catch((error: Error & { cause?: Error }) => {
        wrong.push(`${name} ${when}: ${error.message} ${error.cause?.message}`);
      });
    }),
  );
  await Promise.all(flooded);
  return wrong;
}

describe('each update of each workflow, by the SDK alone', () => {
  // One workflow after the other, or they would keep the two cores of a small machine from the moments.
  it.each([
    ['orders', ['refreshOrder', 'stopFollowing']],
    ['rides', ['updateRide', 'cancelRide', 'resolveRide']],
    ['subscriptions', ['rotateSubscription', 'moveSubscription', 'endSubscription']],
    ['parked deliveries', ['routeDelivery', 'discardDelivery']],
  ])('is answered, whenever it comes: %s', async (_, names) => {
    expect(await all(names, moments)).toEqual([]);
  });
});

/**
 * The tasks of a run that closed it and also cancelled an activity or accepted an update: the server may drop such an
 * update.
 */
async function crowdedEnds(run: WorkflowHandle): Promise<string[]> {
  const events = await eventsOf(run);
  const end = events.at(-1);
  const closing =
    end?.workflowExecutionCompletedEventAttributes ??
    end?.workflowExecutionCanceledEventAttributes ??
    expect.fail('the run goes on');
  const closedBy = String(closing.workflowTaskCompletedEventId);
  return events.flatMap((event) => {
    const cancelled = event.activityTaskCancelRequestedEventAttributes;
    const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
    // The task that accepted an update wrote the event of its own end just before that of the update, commands between
    // them.
    const acceptedBy =
      accepted &&
      events.findLast((one) => one.workflowTaskCompletedEventAttributes && Number(one.eventId) < Number(event.eventId))
        ?.eventId;
    if (cancelled && String(cancelled.workflowTaskCompletedEventId) === closedBy) return ['a cancelled activity'];
    return acceptedBy && String(acceptedBy) === closedBy ? ['an accepted update'] : [];
  });
}

describe('while reads wait for their turn, so that no worker has them', () => {
  const busy = useOrderStack({ requestsPerSecond: 1 });
  const followed = async () =>
    await startFollowing(busy, { account: 'business', orderId: busy.newOrder('business', [['Routing', 0]]) });

  it('stopFollowing is carried out within the first three seconds, and no task accepts it, cancels the read and closes the run', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const run = await followed();
        await sleep(i * 250);
        const answer = await answerTo(run, 'stopFollowing', [{ reason }]).catch(({ message }: Error) => message);
        await run.result();
        return [answer, await failedTasks(run), ...(await crowdedEnds(run))];
      }),
    );
    expect(outcomes).toEqual(Array.from(outcomes, () => ['result', 0]));
  });

  it('a cancelled run cancels its read in one task and closes in a later one', async () => {
    for (let ahead = 0; ahead < 5; ahead += 1) await followed();
    const run = await followed();
    await isPending(run, 'readOrder');
    await run.cancel();
    await run.result().catch(() => undefined);
    expect(await crowdedEnds(run)).toEqual([]);
  });
});

describe('while runs continue as new at every signal', () => {
  it('updates are answered', async () => {
    const limits = { maxEvents: 30, maxSignals: 2 };
    const answers = await Promise.all(
      ['refreshOrder', 'stopFollowing'].flatMap((name) =>
        [0, 60, 120, 180, 240, 300, 360].map(async (ms) => {
          const run = await order(limits);
          await sleep(600);
          const plain = stack.client.workflow.getHandle(run.workflowId);
          for (let sent = 0; sent < 3; sent += 1)
            await plain.signal('deliveryReceived', { deliveries: [newDelivery()] });
          await sleep(ms);
          return await answerTo(run, name, updates[name]?.args ?? []).catch(
            ({ message }: Error) => `${name}: ${message}`,
          );
        }),
      ),
    );
    expect(answers.filter((answer) => !['result', 'NotRead'].includes(answer))).toEqual([]);
  });
});

describe('before any worker runs', () => {
  beforeAll(() => stack.stopWorker());
  afterAll(() => stack.isWorkerRunning() || stack.startWorker());

  it('updates wait for one, and are answered by it', async () => {
    const asked = await Promise.all(
      Object.entries(updates).map(async ([name, { start, args }]) => {
        const run = await start();
        return { name, answer: answerTo(run, name, args).catch(({ message }: Error) => message) };
      }),
    );
    await sleep(500);
    await stack.startWorker();
    for (const { name, answer } of asked) expect(['result', ...ours], name).toContain(await answer);
  });
});

/** The answers to updates that are sent while an operator resets the run of an order. */
async function besideReset(ask: (run: WorkflowHandle) => Promise<string>): Promise<string[]> {
  const run = await order();
  await sleep(1_500);
  const { runId } = await run.describe();
  const [point = 0] = await resetPoints(run);
  const reset = resetRun(stack.client, { workflowId: run.workflowId, runId }, point);
  const answers = [0, 20, 60].map(async (ms) => {
    await sleep(ms);
    return await ask(run).catch(({ message }: Error) => message);
  });
  await reset;
  return await Promise.all(answers);
}

it('an update beside a reset of its run is answered', async () => {
  const answers = await besideReset((run) => answerTo(run, 'refreshOrder', []));
  // The server itself answers one that it had just sent to the run that it ends: there is none.
  for (const answer of answers) expect(['result', 'not found', ...ours]).toContain(answer);
});

it('an update by our client beside a reset of its run goes to the run that goes on', async () => {
  const ask = async ({ workflowId }: WorkflowHandle) => {
    await runOf(stack.client, workflowId).update('refreshOrder', [], { withinMs });
    return 'result';
  };
  const asked = Array.from({ length: 6 }, () => besideReset(ask));
  for (const answer of (await Promise.all(asked)).flat()) expect(answer).toBe('result');
});
