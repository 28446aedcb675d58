import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { DeliveryNotice } from '../../src/domain/delivery.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { FollowOrderInput, FollowRequest } from '../../src/domain/order/input.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import type { FollowOrderProgress, followOrder } from '../../src/workflows/order/follow-order.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';

// Polls are so slow here that whatever is seen was seen because of a message.
const slowPolls = { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' };

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: slowPolls });
});
afterAll(() => stack.close());

type Handle = Awaited<ReturnType<typeof follow>>;
const trailOf = (handle: Handle): Promise<OrderTrail> => handle.query('orderTrail');
const shows = (handle: Handle, about: object) =>
  vi.waitFor(async () => expect(await trailOf(handle)).toMatchObject(about), patient);
const delivery = (): { deliveries: DeliveryNotice[] } => ({
  deliveries: [{ deliveryId: randomUUID(), eventType: 'status_changed', receivedAt: new Date().toISOString() }],
});

/** Signals with start, as callers and deliveries do. Of an order of the partner interface the service says no pick-up time. */
async function follow(
  signal: string,
  argument: object,
  more: Partial<FollowOrderInput> = {},
  progress?: FollowOrderProgress,
) {
  const { client, config } = stack;
  const key = { account: toAccountName('partner'), orderId: toOrderId(stack.newOrder('partner', [['Routing', 0]])) };
  const input: FollowOrderInput = { ...key, ...more };
  return await client.workflow.signalWithStart<typeof followOrder, [object]>('followOrder', {
    workflowId: followOrderId(key),
    taskQueue: config.taskQueue,
    args: progress ? [input, progress] : [input],
    signal,
    signalArgs: [argument],
  });
}

const orderOf = ({ workflowId }: Handle): string => workflowId.split('/').at(-1) ?? '';

async function commandsOf(handle: Handle): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  const { EventType } = temporal.api.enums.v1;
  const names = (events ?? []).map(({ eventType }) => EventType[eventType ?? 0]?.slice(11) ?? '');
  return names.filter((name) => !/_TASK_(STARTED|COMPLETED)$|^WORKFLOW_(TASK|EXECUTION)_/.test(name));
}

const detailsOf = async (handle: Handle): Promise<string> =>
  (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;

/** What the run of today waits until it gives up following. */
async function timerMs({ workflowId }: Handle): Promise<number> {
  const { events } = await stack.client.workflow.getHandle(workflowId).fetchHistory();
  const timer = events?.find(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
  return Number(timer?.timerStartedEventAttributes?.startToFireTimeout?.seconds) * 1_000;
}

/** How long the run was, by the server. */
async function durationMs(handle: Handle): Promise<number> {
  await handle.result();
  const { startTime, closeTime } = await handle.describe();
  return (closeTime?.getTime() ?? 0) - startTime.getTime();
}

describe.concurrent('what a caller asks for', () => {
  it('with the start and once more by the signal has no further effect', async () => {
    const [one, other] = [await startToldWorkflow(stack), await startToldWorkflow(stack)];
    const wishes = { reference: 'r', scheduledAt: '2031-05-01T10:00:00.000Z', followForMs: 86_400_000 };
    const given = (told: typeof one): FollowRequest => ({ ...wishes, notify: [told.receiver] });
    const both = await follow('followRequested', given(one), given(one));
    const alone = await follow('nobodyTakesThis', {}, given(other));
    for (const handle of [both, alone]) {
      await shows(handle, { status: 'Routing', reference: 'r' });
      await vi.waitFor(
        async () => expect(await commandsOf(handle)).toContain('EXTERNAL_WORKFLOW_EXECUTION_SIGNALED'),
        patient,
      );
    }
    await vi.waitFor(async () => expect(await commandsOf(both)).toEqual(await commandsOf(alone)), patient);
    await both.executeUpdate('refreshOrder'); // all that the signal led to stands in the history by then
    expect(await one.course()).toEqual([['Routing', null]]);
    for (const run of [one, other, both, alone]) await ('end' in run ? run.end() : run.terminate());
  });

  it('after a delivery has started the run holds as if it had come first, and outlives continue-as-new', async () => {
    const { receiver, told, end } = await startToldWorkflow(stack);
    const handle = await follow('deliveryReceived', delivery(), {}, { limits: { maxEvents: 1_000, maxSignals: 5 } });
    await shows(handle, { status: 'Routing' });
    const { runId } = await handle.describe();
    await handle.signal('followRequested', { reference: 'trip-9', followForMs: 600_000, notify: [receiver] });
    for (let sent = 0; sent < 4; sent += 1) await handle.signal('deliveryReceived', delivery());
    await vi.waitFor(async () => expect((await handle.describe()).runId).not.toBe(runId), patient);
    stack.sandbox.setStatus('partner', orderOf(handle), 'Driving');
    await handle.signal('deliveryReceived', delivery());
    await shows(handle, { status: 'Driving', reference: 'trip-9' });
    const course = async () => (await told()).map(({ status }) => status);
    await vi.waitFor(async () => expect(await course()).toEqual(['Routing', 'Driving']), patient);
    expect((await told()).map(({ reference }) => reference)).toEqual(['trip-9', 'trip-9']);
    expect(await timerMs(handle)).toBeLessThan(600_000);
    await handle.terminate();
    await end();
  });

  it('overwrites nothing: the first word stands', async () => {
    const handle = await follow(
      'followRequested',
      { reference: 'second', followForMs: 1_000 },
      { followForMs: 86_400_000 },
    );
    await handle.signal('followRequested', { reference: 'third' });
    await shows(handle, { status: 'Routing', reference: 'second', outcome: null });
    await handle.executeUpdate('refreshOrder');
    expect(await trailOf(handle)).toMatchObject({ reference: 'second', outcome: null });
    await handle.terminate();
  });

  it('moves the end of following on: a pick-up that is told late counts', async () => {
    const handle = await follow('nobodyTakesThis', {}, { followForMs: 3_000 });
    await handle.signal('followRequested', { scheduledAt: new Date(Date.now() + 5_000).toISOString() });
    expect(await durationMs(handle)).toBeGreaterThan(7_000);
  });

  it('brings the end of following nearer', async () => {
    const handle = await follow('nobodyTakesThis', {});
    await shows(handle, { status: 'Routing' });
    await handle.signal('followRequested', { followForMs: 2_000 });
    expect(await handle.result()).toMatchObject({ outcome: 'expired' });
  });

  it('is taken as far as it can be read, and what cannot harms nothing', async () => {
    const { receiver, course, end } = await startToldWorkflow(stack);
    const handle = await follow('followRequested', {
      reference: 5,
      scheduledAt: 'soon',
      notify: [7, receiver],
      more: 1,
    });
    for (const junk of [null, 'x', 7, [], { notify: 'nobody' }]) await handle.signal('followRequested', junk as never);
    await vi.waitFor(async () => expect(await course()).toEqual([['Routing', null]]), patient);
    expect(await handle.executeUpdate('refreshOrder')).not.toHaveProperty('reference');
    await handle.terminate();
    await end();
  });

  it('counts as a signal also when it cannot be read, so that the run continues as new in time', async () => {
    const handle = await follow('followRequested', { junk: 0 }, {}, { limits: { maxEvents: 1_000, maxSignals: 3 } });
    const { runId } = await handle.describe();
    for (let sent = 0; sent < 3; sent += 1) await handle.signal('followRequested', { junk: sent } as never);
    await vi.waitFor(async () => expect((await handle.describe()).runId).not.toBe(runId), patient);
    await handle.terminate();
  });

  it('is told to each receiver once, however many runs give way to the next meanwhile', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => startToldWorkflow(stack)));
    const handle = await follow('nobodyTakesThis', {}, {}, { limits: { maxEvents: 1_000, maxSignals: 2 } });
    await shows(handle, { status: 'Routing' });
    await Promise.all(all.map(({ receiver }) => handle.signal('followRequested', { notify: [receiver] })));
    for (const { course } of all)
      await vi.waitFor(async () => expect(await course()).toEqual([['Routing', null]]), patient);
    stack.sandbox.setStatus('partner', orderOf(handle), 'Completed');
    await handle.signal('deliveryReceived', delivery());
    await handle.result();
    for (const { course, end } of all) {
      expect(await course()).toEqual([
        ['Routing', null],
        ['Completed', 'completed'],
      ]);
      await end();
    }
  });

  it('beyond fifty receivers takes as many as there is room for, and names the others in the details', async () => {
    const { receiver, course, end } = await startToldWorkflow(stack);
    const strangers = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ workflowId: `nobody-${from + index}`, signal: 's' }));
    const handle = await follow('followRequested', { notify: strangers(0, 49) });
    await shows(handle, { status: 'Routing' });
    await handle.signal('followRequested', { notify: [receiver, ...strangers(0, 49), ...strangers(49, 2)] });
    await vi.waitFor(async () => expect(await course()).toEqual([['Routing', null]]), patient);
    const details = await detailsOf(handle);
    for (const name of ['nobody-49', 'nobody-50'])
      expect(details).toContain(`Not notified: ${name} by signal s: more than 50 receivers`);
    await handle.terminate();
    await end();
  });

  it('late about the pick-up gives the poll its pace anew', async () => {
    const handle = await follow('nobodyTakesThis', {});
    await shows(handle, { status: 'Routing' });
    await handle.executeUpdate('refreshOrder');
    await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z' });
    const polledFor = async () => {
      const { events } = await handle.fetchHistory();
      const inputs = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: task }) =>
        task?.activityType?.name === 'observeOrder' ? (task.input?.payloads?.[0]?.data ?? []) : [],
      );
      return JSON.parse(Buffer.from(inputs.at(-1) as Uint8Array).toString()).scheduledAt;
    };
    await vi.waitFor(async () => expect(await polledFor()).toBe('2031-05-01T10:00:00.000Z'), patient);
    await handle.terminate();
  });
});
