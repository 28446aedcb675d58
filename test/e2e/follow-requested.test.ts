import { describe, expect, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { FollowOrderInput, FollowRequest } from '../../src/domain/order/input.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import type { FollowOrderProgress, followOrder } from '../../src/workflows/order/follow-order.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { shows, slowPolls, useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { continued, eventsOf } from '../support/runs.js';

// Whatever is seen here was seen because of a message.
const stack = useOrderStack(slowPolls);

type Handle = Awaited<ReturnType<typeof follow>>;

/** Starts a run with this request by signal, as callers do. The partner interface names no pick-up time. */
async function follow(
  request: FollowRequest | { junk: unknown },
  more: Partial<FollowOrderInput> = {},
  progress?: FollowOrderProgress,
  signal = 'followRequested',
) {
  const { client, config } = stack;
  // The pick-up time that the service names would count, and not the one that is requested.
  const orderId = stack.newOrder('partner', [['Routing', 0]], { scheduled_at: null });
  const key = { account: toAccountName('partner'), orderId: toOrderId(orderId) };
  const input: FollowOrderInput = { ...key, ...more };
  return await client.workflow.signalWithStart<typeof followOrder, [object]>('followOrder', {
    workflowId: followOrderId(key),
    taskQueue: config.taskQueue,
    args: progress ? [input, progress] : [input],
    signal,
    signalArgs: [request],
  });
}

/** The same without a request: no run takes this signal. */
const followPlain = (more?: Partial<FollowOrderInput>, progress?: FollowOrderProgress) =>
  follow({}, more, progress, 'unknownSignal');

const orderOf = ({ workflowId }: Handle): string => workflowId.split('/').at(-1) ?? '';

/** What the request made of the run: signals to receivers, and the timer that gives up following. Not its reads: they go as there is budget. */
async function effectsOf(handle: Handle): Promise<string[]> {
  const halfDay = 43_200;
  return (await eventsOf(handle)).flatMap(
    ({ externalWorkflowExecutionSignaledEventAttributes: told, timerStartedEventAttributes: timer }) => {
      if (told) return 'told';
      return Number(timer?.startToFireTimeout?.seconds) > halfDay ? 'limited' : [];
    },
  );
}

/** How long the newest run waits until it gives up following. */
async function timerMs({ workflowId }: Handle): Promise<number> {
  const events = await eventsOf(stack.client.workflow.getHandle(workflowId));
  const timer = events.find(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
  return Number(timer?.timerStartedEventAttributes?.startToFireTimeout?.seconds) * 1_000;
}

/** How long the run was, by the server. */
async function durationMs(handle: Handle): Promise<number> {
  await handle.result();
  const { startTime, closeTime } = await handle.describe();
  return (closeTime?.getTime() ?? 0) - startTime.getTime();
}

describe.concurrent('what a caller requests', () => {
  it('with the start and once more by the signal has no further effect', async () => {
    const [one, other] = [await startToldWorkflow(stack), await startToldWorkflow(stack)];
    const wishes = { reference: 'r', scheduledAt: '2031-05-01T10:00:00.000Z', followForMs: 86_400_000 };
    const given = (told: typeof one): FollowRequest => ({ ...wishes, notify: [told.receiver] });
    const both = await follow(given(one), given(one));
    const alone = await followPlain(given(other));
    for (const handle of [both, alone]) {
      await shows(handle, { status: 'Routing', reference: 'r' });
      await vi.waitFor(async () => expect(await effectsOf(handle)).toContain('told'), patient);
    }
    await both.executeUpdate('refreshOrder'); // by then the history has all that the signal led to
    for (const handle of [both, alone]) expect(await effectsOf(handle)).toEqual(['limited', 'told']);
    expect(await one.course()).toEqual([['Routing', null]]);
    for (const run of [one, other, both, alone]) await ('end' in run ? run.end() : run.terminate());
  });

  it('after the first delivery holds as if it had come with the start, and outlives continue-as-new', async () => {
    const { receiver, told, end } = await startToldWorkflow(stack);
    const handle = await followPlain({}, { limits: { maxEvents: 1_000, maxSignals: 5 } });
    await deliver(handle, newDelivery());
    await shows(handle, { status: 'Routing' });
    await handle.signal('followRequested', { reference: 'trip-9', followForMs: 600_000, notify: [receiver] });
    for (let sent = 0; sent < 4; sent += 1) await deliver(handle, newDelivery());
    await continued(handle);
    stack.sandbox.setStatus('partner', orderOf(handle), 'Driving');
    await deliver(handle, newDelivery());
    await shows(handle, { status: 'Driving', reference: 'trip-9' });
    const course = async () => (await told()).map(({ status }) => status);
    await vi.waitFor(async () => expect(await course()).toEqual(['Routing', 'Driving']), patient);
    expect((await told()).map(({ reference }) => reference)).toEqual(['trip-9', 'trip-9']);
    expect(await timerMs(handle)).toBeLessThan(600_000);
    await handle.terminate();
    await end();
  });

  it('about a later pick-up moves the end of following on', async () => {
    const handle = await followPlain({ followForMs: 3_000 });
    await handle.signal('followRequested', { scheduledAt: new Date(Date.now() + 5_000).toISOString() });
    expect(await durationMs(handle)).toBeGreaterThan(7_000);
  });

  it('brings the end of following nearer', async () => {
    const handle = await followPlain();
    await shows(handle, { status: 'Routing' });
    await handle.signal('followRequested', { followForMs: 2_000 });
    expect(await handle.result()).toMatchObject({ outcome: 'expired' });
  });

  it('counts as a signal also when it cannot be read, so that the run continues as new in time', async () => {
    const handle = await follow({ junk: 0 }, {}, { limits: { maxEvents: 1_000, maxSignals: 3 } });
    for (let sent = 0; sent < 3; sent += 1) await handle.signal('followRequested', { junk: sent } as never);
    await continued(handle);
    await handle.terminate();
  });

  it('is told to each receiver once, however many runs give way to the next meanwhile', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => startToldWorkflow(stack)));
    const handle = await followPlain({}, { limits: { maxEvents: 1_000, maxSignals: 2 } });
    await shows(handle, { status: 'Routing' });
    await Promise.all(all.map(({ receiver }) => handle.signal('followRequested', { notify: [receiver] })));
    for (const { course } of all)
      await vi.waitFor(async () => expect(await course()).toEqual([['Routing', null]]), patient);
    stack.sandbox.setStatus('partner', orderOf(handle), 'Completed');
    await deliver(handle, newDelivery());
    await handle.result();
    for (const { course, end } of all) {
      expect(await course()).toEqual([
        ['Routing', null],
        ['Completed', 'completed'],
      ]);
      await end();
    }
  });

  it('about the pick-up reaches the watch of the account, however late it comes', async () => {
    const handle = await followPlain();
    await shows(handle, { status: 'Routing' });
    await handle.executeUpdate('refreshOrder');
    await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z' });
    const watchedFor = async () => {
      const inputs = (await eventsOf(handle)).flatMap(({ activityTaskScheduledEventAttributes: task }) =>
        task?.activityType?.name === 'watchOrder' ? (task.input?.payloads?.[0]?.data ?? []) : [],
      );
      return JSON.parse(Buffer.from(inputs.at(-1) as Uint8Array).toString()).scheduledAt;
    };
    await vi.waitFor(async () => expect(await watchedFor()).toBe('2031-05-01T10:00:00.000Z'), patient);
    await handle.terminate();
  });
});
