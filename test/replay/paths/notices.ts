import { expect, vi } from 'vitest';
import { publishedMissed } from '../../../src/domain/published.js';
import { resendRequestedSignal } from '../../../src/workflows/messages.js';
import { reported } from '../../support/delivery/deliveries.js';
import { noticesOf, startNotices } from '../../support/notify/notices.js';
import type { NotifyReceiver } from '../../support/notify/receiver.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { cancelled, completed, firstRunOf, type Paths } from './path.js';

/** What the receiver of these paths answers, and for how long. */
export function prepareReceiver(receiver: NotifyReceiver): void {
  receiver.answer('/refusing', 400);
  receiver.answer('/gone', 410);
  receiver.answer('/late', 503, 503, 204);
  receiver.answer('/silent', 503);
  receiver.answer('/mended', 400, 204);
}

const ride: [string, number][] = [
  ['Pending', 0],
  ['Confirmed', 1_000],
  ['Driving', 1_500],
  ['Completed', 2_000],
];

export const urlsOf = ({ config }: OrderStack, ...paths: string[]) =>
  paths.map((path) => ({ url: `${config.notify.origins[0]}${path}` }));
const urlOf = ({ config }: OrderStack, path: string): string => `${config.notify.origins[0]}${path}`;

const telling = (stack: OrderStack, notify: { url: string }[], limits?: { maxEvents: number; maxSignals: number }) =>
  completed(stack.follow('partner', stack.newOrder('partner', ride), { notify }, limits));
const continuing = (stack: OrderStack) => telling(stack, urlsOf(stack, '/told'), { maxEvents: 12, maxSignals: 100 });

/** Every way of telling URLs, by name. The receiver was prepared with `prepareReceiver`. */
export const recordedNoticePaths: Paths = {
  'order-that-tells-urls': (stack) =>
    telling(stack, [...urlsOf(stack, '/told', '/refusing', '/gone'), { url: 'https://elsewhere.example/' }]),
  'order-continued-that-tells-urls': async (stack) => firstRunOf(await continuing(stack)),
  'order-after-continue-that-tells-urls': (stack) => continuing(stack),
  notices: (stack) => completed(startNotices(stack, urlOf(stack, '/late'), 2)),
  'notices-refused': (stack) => completed(startNotices(stack, urlOf(stack, '/gone'), 2)),
  'notices-continued-as-new': async (stack) =>
    firstRunOf(await completed(startNotices(stack, urlOf(stack, '/told'), 9, { maxEvents: 12 }))),
  'notices-cancelled': (stack) => cancelled(startNotices(stack, urlOf(stack, '/silent'), 2)),
  'notices-that-went-quiet': (stack) => completed(startNotices(stack, urlOf(stack, '/told'), 2, { quietMs: 1_000 })),
  async 'notices-missed-and-sent-again'(stack) {
    const run = await startNotices(stack, urlOf(stack, '/mended'), 2);
    await vi.waitFor(async () => {
      const [{ number, missedAt } = { number: 0, missedAt: '' }] = publishedMissed((await run.describe()).memo);
      expect(number).toBe(1);
      await run.signal(resendRequestedSignal, { number, missedAt });
    }, patient);
    return await completed(run);
  },
  'notices-missed-for-good': (stack) =>
    completed(startNotices(stack, urlOf(stack, '/refusing'), 2, { quietMs: 1_000 })),
  async 'order-whose-notices-a-person-ended'(stack) {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await stack.follow('business', orderId, { notify: urlsOf(stack, '/silent') });
    await vi.waitFor(() => noticesOf(stack, handle).terminate(), patient);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    return await completed(handle);
  },
  'report-that-tells-urls': (stack) =>
    completed(
      reported(stack, {
        orderId: stack.newOrder('business', [['Completed', 0]]),
        input: { notify: urlsOf(stack, '/told', '/refusing') },
        limits: { quietMs: 1_500 },
      }),
    ),
};
