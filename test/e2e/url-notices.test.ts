import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompanyReportEvent } from '../../src/domain/company-report.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { DeliveryNotice } from '../../src/domain/notices.js';
import { companyReportId } from '../../src/domain/workflow-ids.js';
import type { CompanyReportLimits, companyReport } from '../../src/workflows/company-report.js';
import type { FollowOrderLimits } from '../../src/workflows/follow-order.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify-receiver.js';
import { type FollowHandle, type OrderStack, startOrderStack } from '../support/order-stack.js';

let receiver: NotifyReceiver;
let stack: OrderStack;
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  stack = await startOrderStack({ env: receiver.env });
});
afterAll(async () => {
  await stack.close();
  await receiver.close();
});

const course = ['Routing', 'Confirmed', 'Driving', 'Completed'];
const detailsOf = async (handle: FollowHandle) => {
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
};

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
    await expect.poll(async () => (await handle.query('orderTrail')) as object).toMatchObject({ status });
  }
}

const newPath = (): string => `/${randomUUID()}`;

const account = toAccountName('business');

/** Reports about an ended order, to this path; the run ends a second after the last one. */
async function report(path: string) {
  const key = { account, about: toOrderId(stack.newOrder('business', [['Completed', 0]])) };
  const input = { account, orderId: key.about, notify: [{ url: `${receiver.origin}${path}` }] };
  const limits: CompanyReportLimits = { maxEvents: 4_000, maxSignals: 3, quietMs: 1_000 };
  const notice = { deliveryId: 'd1', eventType: 'business_report', receivedAt: new Date().toISOString() };
  return await stack.client.workflow.signalWithStart<typeof companyReport, [{ deliveries: DeliveryNotice[] }]>(
    'companyReport',
    {
      workflowId: companyReportId(key),
      taskQueue: stack.config.taskQueue,
      args: [input, { limits }],
      signal: 'deliveryReceived',
      signalArgs: [{ deliveries: [notice] }],
    },
  );
}

describe('a URL', () => {
  it('is told of each change and of the end, in their order, as a signed JSON', async () => {
    const path = newPath();
    const followed = await follow([path]);
    await ride(followed);
    const { since } = await followed.handle.result();
    const told = receiver.received.filter((one) => one.path === path);
    expect(told.map(({ event }) => [event.type, event.rawStatus, event.outcome])).toEqual([
      ['order.changed', 'Routing', null],
      ['order.changed', 'Confirmed', null],
      ['order.changed', 'Driving', null],
      ['order.ended', 'Completed', 'completed'],
    ]);
    const { orderId } = followed;
    const end = { type: 'order.ended', account: 'business', orderId, reference: 'r1', status: 'Completed' };
    expect(told.at(-1)?.event).toEqual({ ...end, rawStatus: 'Completed', since, terminal: true, outcome: 'completed' });
    expect(new Set(told.map(({ id }) => id)).size).toBe(course.length);
    expect(told[0]?.id).toBe(`msg_${followed.handle.firstExecutionRunId}_1`);
  });

  it('that fails for a while is told of all in their order, each time under the same id', async () => {
    const path = newPath();
    receiver.answer(path, 500, 503, 204, 429, 204);
    const followed = await follow([path]);
    await ride(followed);
    await followed.handle.result();
    expect(receiver.taken(path)).toEqual(course);
    const attempts = receiver.received.filter((one) => one.path === path);
    expect(attempts.map(({ status }) => status)).toEqual([500, 503, 204, 429, 204, 204, 204]);
    expect(new Set(attempts.slice(0, 3).map(({ id }) => id)).size).toBe(1);
  });

  it('that is down holds up no other, nor the order, and the run waits for it', async () => {
    const [down, up] = [newPath(), newPath()];
    receiver.answer(down, 500);
    const followed = await follow([down, up]);
    await ride(followed);
    await expect.poll(() => receiver.taken(up)).toEqual(course);
    const { handle } = followed;
    expect((await handle.describe()).status.name).toBe('RUNNING');
    expect(await handle.executeUpdate('refreshOrder')).toMatchObject({ outcome: 'completed' });
    receiver.answer(down, 204);
    expect(await handle.result()).toMatchObject({ outcome: 'completed' });
    expect(receiver.taken(down)).toEqual(course);
  });

  it('that is down when the run is cancelled is not waited for, and the trail is not lost', async () => {
    const path = newPath();
    receiver.answer(path, 500);
    const followed = await follow([path]);
    await ride(followed);
    await followed.handle.cancel();
    expect(await followed.handle.result()).toMatchObject({ outcome: 'completed' });
    expect(await detailsOf(followed.handle)).toMatch(/Not notified: .*, 4, last no\. 4: the run was cancelled/);
  });

  it('that is down while the run waits for it leads to no more reads', async () => {
    const path = newPath();
    receiver.answer(path, 500);
    const { orderId, handle } = await follow([path]);
    await expect.poll(async () => (await handle.query('orderTrail')) as object).toMatchObject({ status: 'Routing' });
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'enough' }] });
    const reads = () => stack.sandbox.ledger({ orderId }).length;
    await sleep(300); // a read may be under way
    const before = reads();
    await sleep(1_000); // ten polls
    expect(reads()).toBe(before);
    receiver.answer(path, 204);
    expect(await handle.result()).toMatchObject({ outcome: 'stopped' });
  });

  it('that refuses one change is told of the next, and the details say what it missed', async () => {
    const path = newPath();
    receiver.answer(path, 400, 204);
    const followed = await follow([path]);
    await ride(followed);
    await followed.handle.result();
    expect(receiver.taken(path)).toEqual(course.slice(1));
    const { host } = new URL(receiver.origin);
    expect(await detailsOf(followed.handle)).toContain(
      `Not notified: notify 0  ${host}, no. 1: ${host} refused with HTTP 400.`,
    );
  });

  it('that wants no more is told no more', async () => {
    const path = newPath();
    receiver.answer(path, 204, 410);
    const followed = await follow([path]);
    await ride(followed);
    await followed.handle.result();
    expect(receiver.received.filter((one) => one.path === path).map(({ status }) => status)).toEqual([204, 410]);
    expect(await detailsOf(followed.handle)).toMatch(/Not notified: .*, from no. 2: .*HTTP 410/);
  });

  it('whose origin nobody has allowed is not called, and the order is followed all the same', async () => {
    const path = newPath();
    const followed = await follow(['https://elsewhere.example/hook', path]);
    await ride(followed);
    await followed.handle.result();
    expect(receiver.taken(path)).toEqual(course);
    expect(await detailsOf(followed.handle)).toMatch(
      /Not notified: notify 0 {2}elsewhere\.example, 4, last no\. 4: Add/,
    );
  });

  it('that is down does not keep a run from continuing as new, and loses nothing by it', async () => {
    const [down, up] = [newPath(), newPath()];
    receiver.answer(down, 500);
    const followed = await follow([down, up], { maxEvents: 12, maxSignals: 100 });
    await ride(followed);
    const { handle } = followed;
    await expect.poll(() => receiver.taken(up).at(-1)).toBe('Completed');
    expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);
    receiver.answer(down, 204);
    await handle.result();
    expect([...new Set(receiver.taken(up))]).toEqual(course);
    expect([...new Set(receiver.taken(down))]).toEqual(course);
    const ids = receiver.received.filter((one) => one.path === down).map(({ id }) => id);
    expect(new Set(ids).size).toBe(course.length);
  });

  it('that joins later is told where the order stands, then of the rest', async () => {
    const path = newPath();
    const { orderId, handle } = await follow([]);
    await expect.poll(async () => (await handle.query('orderTrail')) as object).toMatchObject({ status: 'Routing' });
    await handle.signal('receiversAdded', { receivers: [{ url: `${receiver.origin}${path}` }] });
    await ride({ orderId, handle });
    await handle.result();
    expect(receiver.taken(path)).toEqual(course);
  });
});

describe('a URL that hears of reports', () => {
  it('is told of each with its receipt', async () => {
    const path = newPath();
    const handle = await report(path);
    await handle.result();
    const [told, ...more] = receiver.received.filter((one) => one.path === path);
    expect(more).toEqual([]);
    expect(told?.event).toMatchObject({ type: 'report.changed', account, reports: [{ deliveryId: 'd1' }] });
    expect(told?.event).toHaveProperty('receipt.payment_summary.total_inc_tax', '22.00');
  });

  it('and is down is told once it is back, across continue-as-new, before the run ends', async () => {
    const path = newPath();
    receiver.answer(path, 500);
    const handle = await report(path);
    const { runId } = await handle.describe();
    const notice = { deliveryId: 'd2', eventType: 'business_report', receivedAt: new Date().toISOString() };
    for (let sent = 0; sent < 3; sent += 1) await handle.signal('deliveryReceived', { deliveries: [notice] });
    await expect.poll(async () => (await handle.describe()).runId).not.toBe(runId);
    await sleep(2_000);
    expect((await handle.describe()).status.name).toBe('RUNNING');
    receiver.answer(path, 204);
    await handle.result();
    const taken = receiver.received.filter((one) => one.path === path && one.status === 204);
    const reports = taken.map(({ event }) => (event as unknown as CompanyReportEvent).reports.length);
    expect(reports.at(-1)).toBe(2);
    expect(reports).toEqual([...reports].sort());
  });
});
