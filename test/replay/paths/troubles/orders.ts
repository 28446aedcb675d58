import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { repeatWhenLost } from '../../../../src/temporal/runs.js';
import { deliver, deliveryOf } from '../../../support/delivery/deliveries.js';
import { shows, startFollowing } from '../../../support/order/stack.js';
import { patient } from '../../../support/patience.js';
import { account, failureOf } from '../../../support/ride/rides.js';
import { continued, eventsOf, hasTimers, isPending, isWatched } from '../../../support/runs.js';
import { cancelled, ended, firstRunOf, type Paths } from '../path.js';
import { answers, fails, type Scripted, scripted, silent } from '../scripted.js';
import { noticeTo, startNotices } from './notices.js';

const reading = (status: string, more: object = {}) => ({
  ...{ kind: 'reading', at: new Date().toISOString(), reads: 1 },
  reading: { status, rawStatus: status, terminal: status === 'Completed', details: null, concern: null },
  ...more,
});
const unknownOrder = { kind: 'unknownOrder', reads: 3 };
const watched = { watchOrder: answers(undefined) };

const follow = (place: Scripted, more: object = {}) =>
  startFollowing(place, { account: 'business', orderId: randomUUID(), ...more });
type Following = Awaited<ReturnType<typeof follow>>;
async function stopped(handle: Following) {
  await repeatWhenLost(() => handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] }));
  return handle;
}

const stoppedDuringARefresh = scripted({ ...watched, readOrder: [() => reading('Driving'), silent] }, async (place) => {
  const handle = await follow(place);
  await shows(handle, { status: 'Driving' });
  const refused = failureOf(handle.executeUpdate('refreshOrder'));
  await isPending(handle, 'readOrder');
  await stopped(handle);
  await refused;
  return handle;
});

/** Of orders whose reads, watch or receivers let them down. */
export const orderTroubles: Paths = {
  'order-whose-read-was-ended-from-outside': scripted({ readOrder: () => fails() }, async (place) => {
    const handle = await follow(place);
    await hasTimers(handle, 2); // that of the expiry, and the pause
    await handle.terminate();
    return handle;
  }),
  'order-that-no-watch-takes': scripted(
    {
      readOrder: () => reading('Driving'),
      watchOrder: [() => fails(), () => fails(), answers(undefined)],
    },
    async (place) => {
      const handle = await follow(place);
      await vi.waitFor(async () => {
        const scheduled = (await eventsOf(handle)).flatMap(
          ({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name ?? [],
        );
        expect(scheduled.filter((name) => name === 'readOrder').length).toBeGreaterThanOrEqual(3);
      }, patient);
      return await stopped(handle);
    },
  ),
  // A worker of release 0.2.0 has the watch: it has no activity `nextReading`.
  'order-that-an-earlier-watch-takes': scripted(
    { ...watched, readOrder: [() => reading('Driving'), () => reading('Waiting')] },
    async (place) => {
      const handle = await follow(place);
      await hasTimers(handle, 2); // that of the expiry, and until it tries `nextReading` again
      await handle.signal('changeSeen', { streak: null, unchangedAt: null } as never);
      await shows(handle, { status: 'Waiting' });
      return await stopped(handle);
    },
  ),
  'order-stopped-during-a-refresh': stoppedDuringARefresh,
  // The same with today's timer between the cancellation of the read and the end.
  'order-stopped-in-another-task': stoppedDuringARefresh,
  'order-named-while-it-was-read': scripted(
    { ...watched, readOrder: [answers(unknownOrder, 1_500), () => reading('Driving')] },
    async (place) => {
      const handle = await follow(place);
      await isPending(handle, 'readOrder');
      await deliver(handle, deliveryOf('Driving'));
      await shows(handle, { status: 'Driving' });
      return await stopped(handle);
    },
  ),
  'order-unknown-at-once': scripted({ readOrder: answers(unknownOrder) }, (place) =>
    ended(follow(place, { notify: [{ workflowId: 'nobody', signal: 'rideChanged' }] })),
  ),
  'order-that-a-delivery-named-in-vain': scripted({ readOrder: answers(unknownOrder, 500) }, async (place) => {
    const handle = await follow(place);
    await deliver(handle, deliveryOf('Driving'));
    return await ended(handle);
  }),
  'order-refreshed-while-its-reads-wait': scripted(
    { ...watched, readOrder: () => reading('Driving') },
    async (place) => {
      const handle = await follow(place);
      await shows(handle, { status: 'Driving' });
      for (let reads = 2; reads <= 5; reads += 1) {
        await deliver(handle, deliveryOf('Driving'));
        await vi.waitFor(async () => expect(await handle.query('orderTrail')).toMatchObject({ reads }), patient);
      }
      await deliver(handle, deliveryOf('Driving'));
      await hasTimers(handle, 2); // that of the expiry, and the wait for the share
      await handle.executeUpdate('refreshOrder');
      await handle.executeUpdate('refreshOrder');
      return await stopped(handle);
    },
  ),
  'order-continued-while-its-reads-wait': scripted(
    { ...watched, readOrder: () => reading('Driving') },
    async (place) => {
      const handle = await startFollowing(
        place,
        { account: 'business', orderId: randomUUID() },
        {
          limits: { maxEvents: 1_000, maxSignals: 6 },
        },
      );
      await shows(handle, { status: 'Driving' });
      for (let reads = 2; reads <= 5; reads += 1) {
        await deliver(handle, deliveryOf('Driving'));
        await vi.waitFor(async () => expect(await handle.query('orderTrail')).toMatchObject({ reads }), patient);
      }
      await deliver(handle, deliveryOf('Driving'));
      await hasTimers(handle, 2);
      await deliver(handle, deliveryOf('Driving'));
      await vi.waitFor(
        async () => expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId),
        patient,
      );
      await handle.terminate();
      return { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
    },
  ),
  'order-asked-for-too-often': scripted({ ...watched, readOrder: () => reading('Driving') }, async (place) => {
    const limits = { maxEvents: 1_000, maxSignals: 3 };
    const handle = await startFollowing(place, { account, orderId: randomUUID() }, { limits });
    await shows(handle, { status: 'Driving' });
    await handle.signal('followRequested', { reference: 'r' });
    await handle.signal('changeSeen', { streak: null, unchangedAt: null } as never);
    await handle.signal('followRequested', { notify: 'nobody' } as never);
    await continued(handle);
    await handle.terminate();
    return firstRunOf(handle);
  }),
  'order-cancelled-during-a-notice': scripted(
    { ...watched, readOrder: () => reading('Driving', { stores: true }), recordChange: answers(undefined, 2_000) },
    async (place) => {
      const handle = await follow(place);
      await isPending(handle, 'recordChange');
      return await cancelled(handle);
    },
  ),
  'order-with-the-most-receivers': scripted({ ...watched, readOrder: () => reading('Driving') }, async (place) => {
    const handle = await follow(place);
    await shows(handle, { status: 'Driving' });
    const notify = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => ({ workflowId: `nobody-${from + i}`, signal: 'rideChanged' }));
    for (const [from, to] of [
      [0, 20],
      [20, 40],
      [40, 60],
    ] as const)
      await handle.signal('followRequested', { notify: notify(from, to) });
    return await stopped(handle);
  }),
  'order-asked-for-before-its-first-read': scripted(
    { ...watched, readOrder: answers(reading('Driving'), 1_500) },
    async (place) => {
      const handle = await follow(place);
      await isPending(handle, 'readOrder');
      await handle.signal('followRequested', { notify: [{ workflowId: 'nobody', signal: 'rideChanged' }] });
      await shows(handle, { status: 'Driving' });
      await handle.signal('followRequested', { reference: 'r' });
      return await stopped(handle);
    },
  ),
  'order-whose-time-changes-before-a-watch-takes-it': scripted(
    { readOrder: () => reading('Reserved'), watchOrder: [silent, answers(undefined)] },
    async (place) => {
      const handle = await follow(place);
      await isPending(handle, 'watchOrder');
      await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00.000Z' });
      await vi.waitFor(async () => expect(await isWatched(handle)).toBe(true), patient);
      return await stopped(handle);
    },
  ),
  'order-delivered-after-a-refresh': scripted({ ...watched, readOrder: () => reading('Driving') }, async (place) => {
    const limits = { maxEvents: 1_000, maxSignals: 2 };
    const handle = await startFollowing(place, { account, orderId: randomUUID() }, { limits });
    await shows(handle, { status: 'Driving' });
    await handle.executeUpdate('refreshOrder');
    for (let sent = 0; sent < 2; sent += 1) await deliver(handle, deliveryOf('Driving'));
    await continued(handle);
    await handle.terminate();
    return firstRunOf(handle);
  }),
  'order-continued-before-its-first-read': scripted({ readOrder: silent }, async (place) => {
    const limits = { maxEvents: 1_000, maxSignals: 2 };
    const handle = await startFollowing(place, { account, orderId: randomUUID() }, { limits });
    await isPending(handle, 'readOrder');
    for (let sent = 0; sent < 2; sent += 1) await deliver(handle, deliveryOf('Driving'));
    await continued(handle);
    await handle.terminate();
    return firstRunOf(handle);
  }),
  'order-told-of-a-delivery-twice': scripted({ ...watched, readOrder: () => reading('Driving') }, async (place) => {
    const limits = { maxEvents: 1_000, maxSignals: 2 };
    const handle = await startFollowing(place, { account, orderId: randomUUID() }, { limits });
    await shows(handle, { status: 'Driving' });
    const delivery = deliveryOf('Driving');
    for (const one of [delivery, deliveryOf('Driving')]) await deliver(handle, one);
    await continued(handle);
    await deliver(handle, delivery);
    await stopped(handle);
    return { workflowId: handle.workflowId };
  }),
  'order-that-tells-a-url-often': scripted(
    {
      ...watched,
      readOrder: ['Pending', 'Confirmed', 'Driving'].map((status) => () => reading(status)),
      notifyUrl: answers(undefined),
    },
    async (place) => {
      const limits = { maxEvents: 1_000, maxSignals: 3 };
      const notify = [{ url: 'https://receiver.example/hook' }];
      const handle = await startFollowing(place, { account, orderId: randomUUID(), notify }, { limits });
      for (const status of ['Pending', 'Confirmed', 'Driving']) {
        await shows(handle, { status });
        await deliver(handle, deliveryOf(status));
      }
      await continued(handle);
      await handle.terminate();
      return firstRunOf(handle);
    },
  ),
  'order-with-a-trace': scripted({ ...watched, readOrder: () => reading('Driving') }, async (place) => {
    const trace = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
    const handle = await follow(place, { notify: [{ workflowId: 'nobody', signal: 'rideChanged' }] });
    await shows(handle, { status: 'Driving' });
    await deliver(handle, { ...deliveryOf('Driving'), traceparent: trace('a') });
    await vi.waitFor(async () => expect(await handle.query('orderTrail')).toMatchObject({ reads: 2 }), patient);
    await deliver(handle, deliveryOf('Driving'), { ...deliveryOf('Driving'), traceparent: trace('b') });
    await deliver(handle, { ...deliveryOf('Driving'), traceparent: 'of nobody' });
    await handle.executeUpdate('refreshOrder');
    return await stopped(handle);
  }),
  'order-with-progress-of-nobody': scripted({}, ({ client, config: { taskQueue } }) => {
    const id = randomUUID();
    const args = [{ account, orderId: id }, { carried: { startedAt: 'yesterday' } }];
    return ended(client.workflow.start('followOrder', { workflowId: `order/business/${id}`, taskQueue, args }));
  }),
  'order-reset-after-its-notices-began': scripted(
    { ...watched, readOrder: () => reading('Driving'), notifyUrl: answers(undefined) },
    async (place, stack) => {
      await place.stopWorker();
      const handle = await follow(place, { notify: [{ url: 'https://receiver.example/hook' }] });
      const { firstExecutionRunId: firstRunId, workflowId: about } = handle;
      const elsewhere = { ...place, config: { ...stack.config, taskQueue: `nobody-${randomUUID()}` } };
      const notices = await startNotices(elsewhere, noticeTo('https://receiver.example/hook', 1), {}, 20, {
        ...{ about, firstRunId, receiver: '0' },
      });
      await place.startWorker();
      await shows(handle, { status: 'Driving' });
      await stopped(handle);
      await notices.terminate();
      return handle;
    },
  ),
};
