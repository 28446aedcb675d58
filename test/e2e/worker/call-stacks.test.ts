import type { WorkflowHandle } from '@temporalio/client';
import { expect, it } from 'vitest';
import { askedAhead } from '../../../src/domain/errors.js';
import { accountWatchId } from '../../../src/domain/workflow-ids.js';
import * as messages from '../../../src/workflows/messages.js';
import { deliver, deliveryOf } from '../../support/delivery/deliveries.js';
import { type FollowHandle, useOrderStack } from '../../support/order/stack.js';
import { eventsOf, isWatched } from '../../support/runs.js';

const stack = useOrderStack();

/** What the Temporal UI asks of a run that somebody looks at. */
const asked = async (run: FollowHandle) => ({
  callStack: await run.query<string>('__stack_trace'),
  handlers: JSON.stringify(await run.query('__temporal_workflow_metadata')),
  trail: await run.query('orderTrail'),
});
const following = { callStack: expect.stringContaining('at '), handlers: expect.stringContaining('orderTrail') };
const ended = { ...following, callStack: expect.any(String) };

async function replaceWorker(): Promise<void> {
  await stack.stopWorker();
  await stack.startWorker();
}

it('the Temporal UI gets call stack, handlers and trail of an open and of a completed run, also from a new worker', async () => {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const run = await stack.follow('business', orderId);
  const driving = { trail: expect.objectContaining({ status: 'Driving' }) };
  await expect.poll(() => asked(run)).toEqual({ ...following, ...driving });
  await replaceWorker();
  expect(await asked(run)).toEqual({ ...following, ...driving });

  stack.sandbox.setStatus('business', orderId, 'Completed');
  await run.result();
  const completed = { trail: expect.objectContaining({ status: 'Completed' }) };
  expect(await asked(run)).toEqual({ ...ended, ...completed });
  await replaceWorker();
  expect(await asked(run)).toEqual({ ...ended, ...completed });
});

/** The watch has the order, and no task is under way. */
async function isAtRest(run: FollowHandle): Promise<boolean> {
  const last = (await eventsOf(run)).at(-1);
  return (await isWatched(run)) && last?.activityTaskScheduledEventAttributes?.activityType?.name === 'nextReading';
}

it('and of a run that was terminated, unless a signal had come that no task has brought it', async () => {
  const run = await stack.follow('business', stack.newOrder('business', [['Driving', 0]]));
  const driving = { trail: expect.objectContaining({ status: 'Driving' }) };
  await expect.poll(() => asked(run)).toEqual({ ...following, ...driving });
  await expect.poll(() => isAtRest(run)).toBe(true);
  await run.terminate();
  await replaceWorker();
  expect(await asked(run)).toEqual({ ...following, ...driving });

  const signalled = await stack.follow('business', stack.newOrder('business', [['Driving', 0]]));
  await expect.poll(() => isAtRest(signalled)).toBe(true);
  await stack.stopWorker();
  await deliver(signalled, deliveryOf('Completed'));
  await signalled.terminate();
  await stack.startWorker();
  await expect(asked(signalled)).rejects.toThrow(askedAhead);
});

interface ShownHandler {
  name: string;
  description?: string;
}
type Kind = 'signalDefinitions' | 'queryDefinitions' | 'updateDefinitions';

/** The handlers that the Temporal UI shows, without those of the SDK. */
async function handlersOf(run: Pick<WorkflowHandle, 'query'>): Promise<Record<string, string | undefined>> {
  const { definition } = await run.query<{ definition: Partial<Record<Kind, ShownHandler[]>> }>(
    '__temporal_workflow_metadata',
  );
  const { signalDefinitions = [], queryDefinitions = [], updateDefinitions = [] } = definition;
  const all = [...signalDefinitions, ...queryDefinitions, ...updateDefinitions];
  return Object.fromEntries(
    all.filter(({ name }) => !name.startsWith('__')).map(({ name, description }) => [name, description]),
  );
}

it('the Temporal UI shows a line about each message of a run, and which messages are internal', async () => {
  const run = await stack.follow('business', stack.newOrder('business', [['Driving', 0]]));
  await expect.poll(() => isWatched(run)).toBe(true);
  const order = await handlersOf(run);
  const watchId = accountWatchId('business' as never, stack.config.taskQueue);
  const watch = await handlersOf(stack.client.workflow.getHandle(watchId));
  const of = (names: string[]) =>
    Object.fromEntries(
      Object.values(messages)
        .filter(({ name }) => names.includes(name))
        .map(({ name, description }) => [name, description]),
    );
  const names = ['orderTrail', 'watchedOrder', 'deliveryReceived', 'followRequested', 'changeSeen', 'refreshOrder'];
  expect(order).toEqual(of([...names, 'stopFollowing']));
  expect(watch).toEqual(of(['watchStatus', 'watchTold']));
  expect(order).toMatchObject({
    changeSeen: expect.stringMatching(/^Internal: /),
    stopFollowing: expect.stringMatching(/^Stops following the order/),
  });
});
