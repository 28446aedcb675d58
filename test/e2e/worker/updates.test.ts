import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { beforeAll, describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import { newDelivery } from '../../support/delivery/deliveries.js';
import { startFollowing, useOrderStack } from '../../support/order/stack.js';
import { lifeOf, requestedRide } from '../../support/ride/rides.js';
import { subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

// Each update of each workflow, sent by the plain SDK client and sent once, at many moments of a life.

const stack = useOrderStack({ env: webhookEnv(), requestsPerSecond: 200 });
const account = toAccountName('business');
const life = lifeOf(['Pending', 'Confirmed', 'Driving', 'Completed'], 700);
beforeAll(() => stack.sandbox.setRideSettings({ script: life }));

type Run = { workflowId: string };
interface Row {
  update: string;
  input?: object;
  start(): Promise<Run>;
}

const newOrder = () =>
  stack.newOrder(
    'business',
    life.map(({ status, afterMs }) => [status, afterMs]),
  );
const order = async (progress?: object): Promise<Run> =>
  await startFollowing(stack, { account, orderId: newOrder() }, progress as never);
const ride = async (): Promise<Run> => (await requestedRide(stack)).handle;
const subscription = async (): Promise<Run> => (await subscribe(stack)).handle;
/** A path that no route leads to: it is read, refused and retried. */
const troubled = (): Promise<Run> => startFollowing(stack, { account, orderId: `unknown-${randomUUID()}` });
async function parked(): Promise<Run> {
  const delivery = newDelivery();
  const key = { account, deliveryId: delivery.deliveryId };
  const workflowId = parkedDeliveryId(key);
  const input = { ...key, ...delivery, reason: 'noOrderId', sealed: 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl' };
  const { taskQueue } = stack.config;
  await stack.client.workflow.start('parkedDelivery', { workflowId, taskQueue, args: [input] });
  return { workflowId };
}

const short = { limits: { maxEvents: 15, maxSignals: 100 } };
const rows: [string, Row][] = [
  ['refreshOrder', { update: 'refreshOrder', start: order }],
  ['stopFollowing', { update: 'stopFollowing', input: { reason: 'test' }, start: order }],
  ['refreshOrder of runs that give way', { update: 'refreshOrder', start: () => order(short) }],
  [
    'stopFollowing of runs that give way',
    { update: 'stopFollowing', input: { reason: 'x' }, start: () => order(short) },
  ],
  ['refreshOrder of an unknown order', { update: 'refreshOrder', start: troubled }],
  ['stopFollowing of an unknown order', { update: 'stopFollowing', input: { reason: 'test' }, start: troubled }],
  ['updateRide', { update: 'updateRide', input: { order: { note_to_driver: 'x' } }, start: ride }],
  ['cancelRide', { update: 'cancelRide', start: ride }],
  ['resolveRide', { update: 'resolveRide', input: { tryAgain: true }, start: ride }],
  ['rotateSubscription', { update: 'rotateSubscription', start: subscription }],
  [
    'moveSubscription',
    { update: 'moveSubscription', input: { publicUrl: 'http://127.0.0.1:9/b' }, start: subscription },
  ],
  ['endSubscription', { update: 'endSubscription', input: { reason: 'test' }, start: subscription }],
  ['routeDelivery', { update: 'routeDelivery', input: { orderId: toOrderId('42') }, start: parked }],
  ['discardDelivery', { update: 'discardDelivery', input: { reason: 'test' }, start: parked }],
];

const ours =
  /^(InvalidInput|NotRead|OutcomeUnknown|OrderNotFound|Forbidden|Refused|Unavailable|CredentialsRejected|AlreadyDecided|SubscriptionEnded|NotRouted|Cancelled)$/;

/** Twenty moments in milliseconds after the start, denser at first, the same in each run of this test. */
const moments = Array.from({ length: 20 }, (_, index) => Math.round(3_500 * (index / 19) ** 2));

/** The answer to one update: that of the run, a failure of ours, or that the run has closed. Anything else is said as it came. */
async function answerTo({ workflowId }: Run, { update, input }: Row): Promise<string> {
  const handle = stack.client.workflow.getHandle(workflowId);
  const asked = input === undefined ? {} : { args: [input] as [object] };
  try {
    await stack.client.withDeadline(Date.now() + 100_000, () => handle.executeUpdate(update, asked as never));
    return 'answered';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'closed';
    const cause = error instanceof WorkflowUpdateFailedError ? error.cause : error;
    if (cause instanceof ApplicationFailure && ours.test(String(cause.type))) return 'failed as we say';
    return `${error}: ${cause} ${cause instanceof Error ? ((cause.cause as Error | undefined)?.message ?? '') : ''}`;
  }
}

const known = /^(answered|closed|failed as we say)$/;
const unknownOf = (answers: string[]) => answers.filter((answer) => !known.test(answer));

describe('an update by the plain client gets an answer or a failure of ours', () => {
  it.concurrent.each(rows)('%s, at twenty moments of a life', async (_, row) => {
    const answers = await Promise.all(
      moments.map(async (afterMs) => {
        const run = await row.start();
        await sleep(afterMs);
        return await answerTo(run, row);
      }),
    );
    expect(unknownOf(answers)).toEqual([]);
  });

  it('each of them, sent before a worker runs', async () => {
    await stack.stopWorker();
    const answering = rows.map(async ([, row]) => await answerTo(await row.start(), row));
    await sleep(1_000);
    await stack.startWorker();
    expect(unknownOf(await Promise.all(answering))).toEqual([]);
  });

  it('each of them, of a run that a person cancels at the same moment', async () => {
    const cancelled = async (row: Row, afterMs: number) => {
      const run = await row.start();
      await sleep(afterMs);
      const answer = answerTo(run, row);
      await stack.client.workflow
        .getHandle(run.workflowId)
        .cancel()
        .catch(() => undefined);
      return await answer;
    };
    const answers = await Promise.all(
      rows.flatMap(([, row]) => [0, 300, 1_000].map((afterMs) => cancelled(row, afterMs))),
    );
    expect(unknownOf(answers)).toEqual([]);
  });
});
