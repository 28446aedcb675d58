import { randomUUID } from 'node:crypto';
import { toAccountName } from '../../../src/domain/keys.js';
import type { LateNoticesInput } from '../../../src/domain/notify/late-notices.js';
import { addNotice, openNoticeLog } from '../../../src/domain/notify/notice-log.js';
import { lateNoticesId } from '../../../src/domain/workflow-ids.js';
import type { LateNoticesProgress, lateNotices } from '../../../src/workflows/notify/late-notices.js';
import { reported } from '../../support/delivery/deliveries.js';
import type { NotifyReceiver } from '../../support/notify/receiver.js';
import { type OrderStack, shows } from '../../support/order/stack.js';
import { rideUnderWay } from '../../support/ride/rides.js';
import { completed, firstRunOf, type Paths } from './path.js';

/** What the receiver of these paths answers, and for how long. */
export function prepareReceiver(receiver: NotifyReceiver): void {
  receiver.answer('/refusing', 400);
  receiver.answer('/gone', 410);
  for (const path of ['/late', '/late-again', '/late-after-the-end', '/late-for-long', '/late-for-longer'])
    receiver.answer(path, 503, 503, 204);
  receiver.answer('/silent', 503);
}

const ride: [string, number][] = [
  ['Pending', 0],
  ['Confirmed', 1_000],
  ['Driving', 1_500],
  ['Completed', 2_000],
];

export const urlsOf = ({ config }: OrderStack, ...paths: string[]) =>
  paths.map((path) => ({ url: `${config.notify.origins[0]}${path}` }));

const telling = (stack: OrderStack, notify: { url: string }[], limits?: { maxEvents: number; maxSignals: number }) =>
  completed(stack.follow('partner', stack.newOrder('partner', ride), { notify }, limits));
const continuing = (stack: OrderStack, late: string) =>
  telling(stack, urlsOf(stack, late, '/told'), { maxEvents: 12, maxSignals: 100 });

/** A run that tells URLs of what `count` changes leave for them, as if the run that knew of the changes had ended. */
function late(stack: OrderStack, paths: string[], count: number, progress: LateNoticesProgress = {}) {
  const at = new Date().toISOString();
  const events = Array.from({ length: count }, (_, index) => ({ event: { index }, at }));
  const input: LateNoticesInput = {
    account: toAccountName('business'),
    about: 'order/business/4711',
    firstRunId: randomUUID(),
    urls: urlsOf(stack, ...paths).map((url, entry) => ({ ...url, entry })),
    log: events.reduce((log, notice) => addNotice(log, notice, count), openNoticeLog(paths.length)),
  };
  const started = stack.client.workflow.start<typeof lateNotices>('lateNotices', {
    workflowId: lateNoticesId({ ...input, last: input.log.last }),
    taskQueue: stack.config.taskQueue,
    args: [input, progress],
  });
  return completed(started);
}

/** Every way of telling URLs, by name. The receiver was prepared with `prepareReceiver`. */
export const recordedNoticePaths: Paths = {
  'order-that-tells-urls': (stack) =>
    telling(stack, [...urlsOf(stack, '/told', '/refusing', '/gone'), { url: 'https://elsewhere.example/' }]),
  async 'order-stopped-that-tells-urls'(stack) {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await stack.follow('business', orderId, { notify: urlsOf(stack, '/told') });
    await shows(handle, { status: 'Driving' });
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return await completed(handle);
  },
  'order-continued-while-a-url-is-down': async (stack) => firstRunOf(await continuing(stack, '/late')),
  'order-after-continue-while-a-url-is-down': (stack) => continuing(stack, '/late-again'),
  'order-that-leaves-notices': (stack) => telling(stack, urlsOf(stack, '/late-after-the-end', '/told')),
  async 'ride-that-tells-urls'(stack) {
    const { handle } = await rideUnderWay(stack, { notify: urlsOf(stack, '/silent', '/told') });
    await handle.executeUpdate('cancelRide');
    return await completed(handle);
  },
  'late-notices': (stack) => late(stack, ['/late-for-long'], 2),
  'late-notices-continued-as-new': async (stack) =>
    firstRunOf(await late(stack, ['/late-for-longer', '/told'], 3, { maxEvents: 12 })),
  'report-that-tells-urls': (stack) =>
    completed(
      reported(stack, {
        orderId: stack.newOrder('business', [['Completed', 0]]),
        input: { notify: urlsOf(stack, '/told', '/refusing') },
        limits: { quietMs: 1_500 },
      }),
    ),
};
