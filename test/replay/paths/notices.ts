import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { LateNoticesInput } from '../../../src/domain/notify/late-notices.js';
import { addNotice, openNoticeLog } from '../../../src/domain/notify/notice-log.js';
import { companyReportId, lateNoticesId } from '../../../src/domain/workflow-ids.js';
import type { LateNoticesProgress, lateNotices } from '../../../src/workflows/notify/late-notices.js';
import type { NotifyReceiver } from '../../support/notify/receiver.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

/** What the receiver of these paths answers, and for how long. */
export function prepareReceiver(receiver: NotifyReceiver): void {
  receiver.answer('/refusing', 400);
  receiver.answer('/gone', 410);
  receiver.answer('/late', 503, 503, 204);
  receiver.answer('/late-again', 503, 503, 204);
  receiver.answer('/late-after-the-end', 503, 503, 204);
  receiver.answer('/late-for-long', 503, 503, 204);
  receiver.answer('/late-for-longer', 503, 503, 204);
}

const ride: [string, number][] = [
  ['Pending', 0],
  ['Confirmed', 1_000],
  ['Driving', 1_500],
  ['Completed', 2_000],
];

const urlsOf = ({ config }: OrderStack, ...paths: string[]) =>
  paths.map((path) => ({ url: `${config.notify.origins[0]}${path}` }));

async function completed(stack: OrderStack, late: string) {
  const notify = urlsOf(stack, late, '/told');
  const orderId = stack.newOrder('partner', ride);
  const handle = await stack.follow('partner', orderId, { notify }, { maxEvents: 12, maxSignals: 100 });
  await handle.result();
  return handle;
}

/** What `count` changes leave for URLs, as if the run that knew of them had ended. */
function leftFor(stack: OrderStack, paths: string[], count: number): LateNoticesInput {
  const at = new Date().toISOString();
  const events = Array.from({ length: count }, (_, index) => ({ event: { index }, at }));
  return {
    account: toAccountName('business'),
    about: 'order/business/4711',
    firstRunId: randomUUID(),
    urls: urlsOf(stack, ...paths).map((url, entry) => ({ ...url, entry })),
    log: events.reduce((log, notice) => addNotice(log, notice, count), openNoticeLog(paths.length)),
  };
}

async function late(stack: OrderStack, input: LateNoticesInput, progress: LateNoticesProgress = {}) {
  return await stack.client.workflow.start<typeof lateNotices>('lateNotices', {
    workflowId: lateNoticesId({ ...input, last: input.log.last }),
    taskQueue: stack.config.taskQueue,
    args: [input, progress],
  });
}

/** Every way of telling URLs, by name. The receiver was prepared with `prepareReceiver`. */
export const recordedNoticePaths: Record<
  string,
  (stack: OrderStack) => Promise<{ workflowId: string; runId?: string | undefined }>
> = {
  async 'order-that-tells-urls'(stack) {
    const notify = [...urlsOf(stack, '/told', '/refusing', '/gone'), { url: 'https://elsewhere.example/' }];
    const handle = await stack.follow('partner', stack.newOrder('partner', ride), { notify });
    await handle.result();
    return handle;
  },
  async 'order-stopped-that-tells-urls'(stack) {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await stack.follow('business', orderId, { notify: urlsOf(stack, '/told') });
    const shown = async () => (await handle.describe()).searchAttributes.RideStatus;
    await vi.waitFor(async () => expect(await shown()).toEqual(['Driving']), patient);
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    await handle.result();
    return handle;
  },
  async 'order-continued-while-a-url-is-down'(stack) {
    const { workflowId, firstExecutionRunId } = await completed(stack, '/late');
    return { workflowId, runId: firstExecutionRunId };
  },
  'order-after-continue-while-a-url-is-down': (stack) => completed(stack, '/late-again'),
  async 'order-that-leaves-notices'(stack) {
    const notify = urlsOf(stack, '/late-after-the-end', '/told');
    const handle = await stack.follow('partner', stack.newOrder('partner', ride), { notify });
    await handle.result();
    return handle;
  },
  async 'late-notices'(stack) {
    const handle = await late(stack, leftFor(stack, ['/late-for-long'], 2));
    await handle.result();
    return handle;
  },
  async 'late-notices-continued-as-new'(stack) {
    const handle = await late(stack, leftFor(stack, ['/late-for-longer', '/told'], 3), { maxEvents: 12 });
    await handle.result();
    const { workflowId, firstExecutionRunId } = handle;
    return { workflowId, runId: firstExecutionRunId };
  },
  async 'report-that-tells-urls'(stack) {
    const key = {
      account: toAccountName('business'),
      about: toOrderId(stack.newOrder('business', [['Completed', 0]])),
    };
    const limits = { maxEvents: 1_000, maxSignals: 1_000, quietMs: 1_500 };
    const input = { account: key.account, orderId: key.about, notify: urlsOf(stack, '/told', '/refusing') };
    const notice = { deliveryId: 'd1', eventType: 'business_report', receivedAt: '2031-05-01T10:00:00.000Z' };
    const handle = await stack.client.workflow.signalWithStart('companyReport', {
      workflowId: companyReportId(key),
      taskQueue: stack.config.taskQueue,
      args: [input, { limits }],
      signal: 'deliveryReceived',
      signalArgs: [{ deliveries: [notice] }],
    });
    await handle.result();
    return handle;
  },
};
