import { randomUUID } from 'node:crypto';
import { noticesSince } from '../../../../src/domain/notify/notices.js';
import { noticesId } from '../../../../src/domain/workflow-ids.js';
import { noticeGivenSignal } from '../../../../src/workflows/messages.js';
import { continued, hasTimers, isPending } from '../../../support/runs.js';
import { completed, ended, firstRunOf, type Path, type Paths } from '../path.js';
import { answers, fails, type Scripted, scripted, silent } from '../scripted.js';

const to = 'https://receiver.example/hook';

/** One notice. */
export const noticeTo = (to: string, number: number, more: object = {}) => ({
  ...{ number, at: new Date().toISOString(), type: 'order.changed', data: { rawStatus: String(number) }, to },
  isLast: false,
  ...more,
});

/** Starts a run of `notices` with this first one. */
export const startNotices = (
  { client, config: { taskQueue } }: Scripted,
  first: ReturnType<typeof noticeTo>,
  limits: object = {},
  maxWaiting = 20,
  key = { about: 'order/business/4711', firstRunId: randomUUID() as string, receiver: '0' },
) => {
  const args = [noticesSince(first as never, maxWaiting), { limits }];
  return client.workflow.start('notices', { workflowId: noticesId(key), taskQueue, args });
};

/** A run that becomes long during a request. */
const longDuring = (notifyUrl: () => unknown): Path =>
  scripted({ notifyUrl }, async (place) => {
    const handle = await startNotices(place, noticeTo(to, 1), { maxEvents: 10 });
    await isPending(handle, 'notifyUrl');
    for (let number = 2; number <= 4; number += 1)
      await handle.signal(noticeGivenSignal, noticeTo(to, number) as never);
    await continued(handle);
    await handle.terminate();
    return firstRunOf(handle);
  });

/** A notice for which only the least time is left. */
const aDayOld = (notifyUrl: () => unknown): Path =>
  scripted({ notifyUrl }, (place) => {
    const at = new Date(Date.now() - 86_400_000).toISOString();
    return completed(startNotices(place, noticeTo(to, 1, { at, isLast: true }), { quietMs: 1_000 }));
  });

/** Of notices that their receivers never get. */
export const noticeTroubles: Paths = {
  'notices-refused-in-all-ways': scripted(
    {
      notifyUrl: [
        () => fails('OriginNotAllowed'),
        () => fails('AddressNotAllowed'),
        () => fails('ReceiverRefuses', 422),
        () => fails('ReceiverRefuses', 'no number'),
        () => Promise.resolve(),
        () => fails('ReceiverGone', 410),
      ],
    },
    async (place) => {
      const handle = await startNotices(place, noticeTo(to, 1), { quietMs: 2_000 });
      for (let number = 2; number <= 6; number += 1)
        await handle.signal(noticeGivenSignal, noticeTo(to, number) as never);
      return await completed(handle);
    },
  ),
  'notices-of-which-too-many-wait': scripted({ notifyUrl: answers(undefined, 3_000) }, async (place) => {
    const handle = await startNotices(place, noticeTo(to, 1), { quietMs: 1_000 }, 2);
    await isPending(handle, 'notifyUrl');
    await handle.signal(noticeGivenSignal, { number: 'seven' } as never);
    for (let number = 2; number <= 5; number += 1)
      await handle.signal(noticeGivenSignal, noticeTo(to, number, { isLast: number === 5 }) as never);
    return await completed(handle);
  }),
  'notices-long-during-a-request': longDuring(silent),
  'notices-after-a-pause': scripted({ notifyUrl: answers(undefined) }, async (place) => {
    const handle = await startNotices(place, noticeTo(to, 1), { quietMs: 60_000 });
    await hasTimers(handle, 1);
    await handle.signal(noticeGivenSignal, noticeTo(to, 2, { isLast: true }) as never);
    return await completed(handle);
  }),
  'notices-of-a-request-that-fails-as-it-is-cancelled': longDuring(() =>
    silent().catch(() => Promise.reject(new Error('away'))),
  ),
  'notices-with-another-id': scripted({}, ({ client, config: { taskQueue } }) => {
    const args = [noticesSince(noticeTo('store', 1) as never, 20)];
    return ended(client.workflow.start('notices', { workflowId: randomUUID(), taskQueue, args }));
  }),
  'notices-that-the-store-refuses': scripted({ recordChange: () => fails() }, (place) =>
    completed(startNotices(place, noticeTo('store', 1, { isLast: true }), { quietMs: 1_000 })),
  ),
};

/** Those that take minutes. */
export const slowNoticeTroubles: Paths = {
  'notices-whose-worker-died': aDayOld(silent),
  'notices-given-up': aDayOld(() => Promise.reject(new Error('away'))),
};
