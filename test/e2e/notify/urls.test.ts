import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { describe, expect, it, vi } from 'vitest';
import type { CompanyReportEvent } from '../../../src/domain/report.js';
import type { FollowOrderLimits } from '../../../src/workflows/order/follow-order.js';
import { deliver, newReport, reported } from '../../support/delivery/deliveries.js';
import { isLong } from '../../support/long.js';
import { noticesOf, startNotices } from '../../support/notify/notices.js';
import { numberOf, useNotifyReceiver } from '../../support/notify/receiver.js';
import { type FollowHandle, shows, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { continued, detailsOf } from '../../support/runs.js';

const receiver = useNotifyReceiver();
const stack = useOrderStack(() => ({ env: receiver.env }));

const course = ['Routing', 'Confirmed', 'Driving', 'Completed'];
/** Of the newest run. */
const shownOf = ({ workflowId }: Pick<FollowHandle, 'workflowId'>) =>
  detailsOf(stack.client.workflow.getHandle(workflowId));

/** Follows an order that tells these paths of the receiver. */
async function follow(paths: string[], limits?: FollowOrderLimits) {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const notify = paths.map((path) => ({ url: path.startsWith('https:') ? path : `${receiver.origin}${path}` }));
  const handle = await stack.follow('business', orderId, { notify, reference: 'r1' }, limits);
  return { orderId, handle };
}

/** Takes the order through its course, each status read before the next one comes. */
async function ride({ orderId, handle }: { orderId: string; handle: FollowHandle }): Promise<void> {
  for (const status of course) {
    stack.sandbox.setStatus('business', orderId, status);
    await shows(handle, { status });
  }
}

async function endedRide(paths: string[]) {
  const followed = await follow(paths);
  await ride(followed);
  await followed.handle.result();
  return followed;
}

/** What the Temporal UI shows of what one of its receivers is told. */
const shownNotices = (handle: FollowHandle) => shownOf(noticesOf(stack, handle));

const newPath = (): string => `/${randomUUID()}`;

const takes = (path: string, statuses: string[], timeout = 180_000): Promise<void> =>
  vi.waitFor(() => expect(receiver.taken(path)).toEqual(statuses), { ...patient, timeout });
const showsNotices = (handle: FollowHandle, what: string | RegExp): Promise<void> =>
  vi.waitFor(async () => expect(await shownNotices(handle)).toMatch(what), patient);

/** Reports about an ended order, to this path; the run ends a second after the last one. */
const report = (path: string) =>
  reported(stack, {
    orderId: stack.newOrder('business', [['Completed', 0]]),
    input: { notify: [{ url: `${receiver.origin}${path}` }] },
    limits: { maxSignals: 3, quietMs: 1_000 },
  });

describe.concurrent('a URL', () => {
  it('gets each change and the end, in their order, as signed JSON', async () => {
    const path = newPath();
    const followed = await follow([path]);
    await ride(followed);
    const { since } = await followed.handle.result();
    await takes(path, course);
    const told = receiver.received.filter((one) => one.path === path);
    expect(told.map(({ event }) => [event.type, event.data.rawStatus, event.data.outcome])).toEqual([
      ['order.changed', 'Routing', null],
      ['order.changed', 'Confirmed', null],
      ['order.changed', 'Driving', null],
      ['order.ended', 'Completed', 'completed'],
    ]);
    const { orderId } = followed;
    const end = { account: 'business', orderId, reference: 'r1', status: 'Completed' };
    const calm = { rawStatus: 'Completed', attention: null };
    const data = { ...end, ...calm, since, terminal: true, outcome: 'completed' };
    expect(told.at(-1)?.event).toEqual({ type: 'order.ended', timestamp: expect.any(String), data });
    const times = told.map(({ event }) => Date.parse(event.timestamp));
    expect(times).toEqual([...times].sort());
    expect(Math.abs((times.at(-1) ?? 0) - Date.parse(since))).toBeLessThan(60_000);
    expect(new Set(told.map(({ id }) => id)).size).toBe(course.length);
    expect(told.map(numberOf)[0]).toBe(`msg_${followed.handle.firstExecutionRunId}_1`);
  });

  it('that fails for a while gets all notices in their order, each under one id however often it is sent', async () => {
    const path = newPath();
    receiver.answer(path, 500, 503, 204, 429, 204);
    await endedRide([path]);
    await takes(path, course);
    const attempts = receiver.received.filter((one) => one.path === path);
    expect(attempts.map(({ status }) => status)).toEqual([500, 503, 204, 429, 204, 204, 204]);
    expect(new Set(attempts.slice(0, 3).map(({ id }) => id)).size).toBe(1);
  });

  it('that is down delays neither other URLs nor the order nor its end, and is told when it is back', async () => {
    const [down, up] = [newPath(), newPath()];
    receiver.answer(down, 500);
    const followed = await follow([down, up]);
    await ride(followed);
    expect(await followed.handle.result()).toMatchObject({ outcome: 'completed' });
    await showsNotices(followed.handle, /4 wait for 127\.0\.0\.1:\d+: next no\. 1,/);
    await takes(up, course);
    receiver.answer(down, 204);
    expect(await noticesOf(stack, followed.handle).result()).toEqual({ missed: null });
    expect(receiver.taken(down)).toEqual(course);
    const ids = receiver.received.filter(({ path }) => path === down).map(numberOf);
    expect([...new Set(ids)]).toEqual(course.map((_, n) => `msg_${followed.handle.firstExecutionRunId}_${n + 1}`));
  });

  it('that is down is given up when the run that tells it is cancelled; the next change begins anew', async () => {
    const path = newPath();
    receiver.answer(path, 500);
    const followed = await follow([path]);
    await shows(followed.handle, { status: 'Routing' });
    await vi.waitFor(() => expect(receiver.received.some((one) => one.path === path)).toBe(true), patient);
    const late = noticesOf(stack, followed.handle);
    await late.cancel();
    await expect(late.result()).rejects.toThrow(WorkflowFailedError);
    expect((await late.describe()).status.name).toBe('CANCELLED');
    receiver.answer(path, 204);
    await ride(followed);
    await followed.handle.result();
    await takes(path, course.slice(1));
    expect(await noticesOf(stack, followed.handle).result()).toEqual({ missed: null });
  });

  it.each([
    ['refuses one change gets the next', 400, course.slice(1), 'Not taken: 1, last no. 1: HOST refused with HTTP 400.'],
    ['wants no more gets no more, and its run ends', 410, [], 'HOST wants no more.'],
  ])('that %s, and the details say what it missed', async (_, status, taken, missed) => {
    const path = newPath();
    receiver.answer(path, status, 204);
    const followed = await endedRide([path]);
    await takes(path, [...taken]);
    const { host } = new URL(receiver.origin);
    await showsNotices(followed.handle, missed.replace('HOST', host));
    const run = noticesOf(stack, followed.handle);
    if (status === 410) expect(await run.result()).toMatchObject({ missed: { count: 1, last: 1 } });
    else expect(await run.describe()).toMatchObject({ status: { name: 'RUNNING' } });
    expect(receiver.received.filter((one) => one.path === path)).toHaveLength(taken.length + 1);
  });

  it('whose origin no setting allows is not called, and the order is followed all the same', async () => {
    const path = newPath();
    const followed = await endedRide(['https://elsewhere.example/hook', path]);
    await takes(path, course);
    await showsNotices(followed.handle, 'Not taken: 4, last no. 4: Add');
  });

  it('that is down while the run that tells it continues as new gets each notice, in their order', async () => {
    const path = newPath();
    receiver.answer(path, 500);
    const sending = await startNotices(stack, receiver.origin + path, 9, { maxEvents: 8 });
    await continued(sending);
    receiver.answer(path, 204);
    const newest = stack.client.workflow.getHandle(sending.workflowId);
    expect(await newest.result()).toEqual({ missed: null });
    expect(receiver.taken(path)).toEqual(Array.from({ length: 9 }, (_, n) => String(n + 1)));
  });

  it('that takes notices of reports and is down delays no end, and is told of each with its receipt, in order, across continue-as-new', async () => {
    const at = (path: string) => receiver.received.filter((one) => one.path === path);
    const path = newPath();
    receiver.answer(path, 500);
    const handle = await report(path);
    const second = newReport();
    for (let sent = 0; sent < 3; sent += 1) await deliver(handle, second);
    await continued(handle);
    expect(await handle.result()).toMatchObject({ reports: [{}, { deliveryId: second.deliveryId }] });
    receiver.answer(path, 204);
    const taken = () => at(path).filter(({ status }) => status === 204);
    const reports = () => taken().map(({ event }) => (event as unknown as CompanyReportEvent).data.reports.length);
    await vi.waitFor(() => expect(reports().at(-1)).toBe(2), patient);
    expect(reports()).toEqual([...reports()].sort());
    expect(taken().at(-1)?.event).toMatchObject({ type: 'report.changed', data: { account: 'business' } });
    expect(taken().at(-1)?.event).toHaveProperty('data.receipt.payment_summary.total_inc_tax', 48);
  });
});

/** In the long form 200 notices over a minute of resets; pauses between attempts then reach half a minute. */
const [toldOrders, resetMs] = isLong ? [50, 60_000] : [5, 3_000];

it(`a receiver that resets connections for ${resetMs / 1_000} s gets every change and every end of ${toldOrders} orders`, {
  timeout: 300_000,
}, async () => {
  const paths = Array.from({ length: toldOrders }, newPath);
  receiver.resetFor(resetMs);
  await Promise.all(paths.map((path) => endedRide([path])));
  for (const path of paths) await takes(path, course, 200_000);
});
