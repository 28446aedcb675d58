import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { noticesSince } from '../../../src/domain/notify/notices.js';
import { accountWatchId, companyReportId, noticesId } from '../../../src/domain/workflow-ids.js';
import { noticeGivenSignal } from '../../../src/workflows/messages.js';
import { startCall } from '../../support/call/calls.js';
import { deliver, deliveryOf, newReport, reported } from '../../support/delivery/deliveries.js';
import { shows, startFollowing } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { account, failureOf, requestedRide, standingOf, stands } from '../../support/ride/rides.js';
import { continued, eventsOf, isPending } from '../../support/runs.js';
import { subscribe } from '../../support/subscription/subscriptions.js';
import { leaseStart } from '../../support/token/leases.js';
import { parked } from './deliveries.js';
import { cancelled, completed, ended, firstRunOf, type Paths } from './path.js';
import { answers, fails, type Scripted, scripted, silent } from './scripted.js';

const orderId = toOrderId('4711');
const receipt = { kind: 'receipt', receipt: { total: '12.50' }, at: '2030-01-01T00:00:00.000Z', reads: 1 } as const;
const done = { kind: 'done', result: { operation: 'cancelOrder', orderId } };
const unavailable = { type: 'Unavailable', message: 'away', details: [], isFinal: false };

/** Every way through calls that a worker or the service lets down, by name. */
const callPaths: Paths = {
  'call-in-the-store': scripted({ attemptCall: answers({ ...done, stores: true }, 1_000) }, async (place) => {
    const call = await startCall(place, 'cancelOrder', { orderId });
    await isPending(call, 'attemptCall');
    await call.signal('claimed', { stores: true });
    await call.signal('claimed', null);
    return await completed(call);
  }),
  'call-refused-after-trouble': scripted(
    {
      attemptCall: [
        answers({ kind: 'failed', sent: 'no', trouble: { ...unavailable, afterMs: 1_500 } }),
        answers({ kind: 'failed', sent: 'unknown', trouble: unavailable }),
        answers({ kind: 'noEffect' }),
        answers({ kind: 'failed', sent: 'yes', trouble: { ...unavailable, type: 'Refused', isFinal: true } }),
      ],
    },
    async (place) => await ended(startCall(place, 'cancelOrder', { orderId })),
  ),
  'call-ended-from-outside': scripted(
    { attemptCall: [() => fails(), answers(done)] },
    async (place) => await completed(startCall(place, 'cancelOrder', { orderId })),
  ),
  'call-to-read-ended-from-outside': scripted(
    { attemptCall: [() => fails(), answers(done)] },
    async (place) => await completed(startCall(place, 'orderDetails', { orderId })),
  ),
  'call-that-the-service-never-takes': scripted(
    { attemptCall: answers({ kind: 'failed', sent: 'no', trouble: { ...unavailable, afterMs: 900_000 } }) },
    async (place) => await ended(startCall(place, 'orderDetails', { orderId })),
  ),
};

const lease = (place: Scripted) =>
  place.client.workflow.start('accessToken', leaseStart(place as never, { scope: '' as never }));

const watchOf = (
  { client, config: { taskQueue } }: Scripted,
  workflowId: string = accountWatchId(account, taskQueue),
) => client.workflow.start('accountWatch', { workflowId, taskQueue, args: [{ account }] });

/** A watch that another worker takes over, with its attention. */
const movedWatch = (of: 'first' | 'next') =>
  scripted({ watchOrders: [answers('moved', 2_000), silent] }, async (place) => {
    const handle = await watchOf(place);
    const attention = { code: 'upstreamUnavailable', message: 'away', since: '2030-01-01T00:00:00.000Z' };
    await handle.signal('watchTold', { worker: 'worker', orders: 7, attention } as never);
    await handle.signal('watchTold', 'seven' as never);
    await continued(handle);
    await isPending(handle, 'watchOrders');
    await handle.terminate();
    return { workflowId: handle.workflowId, ...(of === 'first' && { runId: handle.firstExecutionRunId }) };
  });

const watchPaths: Paths = {
  'watch-continued-as-new': movedWatch('first'),
  'watch-after-continue-as-new': movedWatch('next'),
  'watch-with-another-id': scripted({}, (place) => ended(watchOf(place, randomUUID()))),
  'watch-with-the-id-of-another': scripted({}, (place) =>
    ended(watchOf(place, accountWatchId(toAccountName('partner'), place.config.taskQueue))),
  ),
};

/** Of token requests, deliveries and reports. */
const deliveryPaths: Paths = {
  'token-that-no-worker-requests': scripted({ requestToken: () => fails() }, async (place) => {
    const handle = await lease(place);
    await handle.signal('renewToken', { insteadOf: null });
    await vi.waitFor(async () => expect((await handle.describe()).memo?.lease).toMatchObject({ failure: {} }), patient);
    await handle.terminate();
    return handle;
  }),
  'parked-refused-then-routed': scripted(
    {
      handOverDelivery: [
        answers('ignored'),
        answers('followingStopped'),
        answers('endUnreadable'),
        () => fails(),
        answers('signalled'),
      ],
    },
    async (place) => {
      const handle = await parked(place);
      const route = () => handle.executeUpdate('routeDelivery', { args: [{ orderId }] });
      for (let refusals = 0; refusals < 4; refusals += 1) await failureOf(route());
      await route();
      return await completed(handle);
    },
  ),
  'parked-expired-during-a-refusal': scripted({ handOverDelivery: answers('ignored', 1_500) }, async (place) => {
    const handle = await parked(place, {}, { keptMs: 1_000 });
    await failureOf(handle.executeUpdate('routeDelivery', { args: [{ orderId }] }));
    return await completed(handle);
  }),
  'parked-routed-as-it-expires': scripted({ handOverDelivery: answers('started', 1_500) }, async (place) => {
    const handle = await parked(place, {}, { keptMs: 1_000 });
    await handle.executeUpdate('routeDelivery', { args: [{ orderId }] });
    return await completed(handle);
  }),
  'report-that-nobody-asked-for': scripted({}, async (place) => {
    const handle = await reported(place, {});
    await timers(handle, 1);
    await handle.terminate();
    return handle;
  }),
  'report-of-an-order-as-in-production': scripted({ readReceipt: answers(receipt) }, async (place) => {
    const handle = await reported(place, { orderId });
    await vi.waitFor(async () => expect(await handle.query('reportStatus')).toMatchObject({ receipt: {} }), patient);
    await handle.terminate();
    return handle;
  }),
  'report-with-another-id': scripted({}, ({ client, config: { taskQueue } }) =>
    ended(client.workflow.start('companyReport', { workflowId: randomUUID(), taskQueue, args: [{ account }] })),
  ),
  'report-with-the-id-of-another': scripted({}, ({ client, config: { taskQueue } }) => {
    const workflowId = companyReportId({ account: toAccountName('partner'), about: orderId });
    return ended(client.workflow.start('companyReport', { workflowId, taskQueue, args: [{ account, orderId }] }));
  }),
  'report-that-is-long': scripted({ readReceipt: answers(receipt) }, async (place) => {
    const handle = await reported(place, { orderId, limits: { maxEvents: 12 } });
    await vi.waitFor(async () => {
      await deliver(handle, newReport());
      expect((await handle.describe()).runId).not.toBe(handle.signaledRunId);
    }, patient);
    await handle.terminate();
    return { workflowId: handle.workflowId, runId: handle.signaledRunId };
  }),
  'report-again-after-quiet': scripted({ readReceipt: answers(receipt, 1_500) }, async (place) => {
    const handle = await reported(place, { orderId, limits: { quietMs: 800 } });
    await timers(handle, 1);
    await sleep(1_000);
    await deliver(handle, newReport());
    return await completed(handle);
  }),
};

/** Resolves once a run has started so many timers. */
const timers = (handle: Parameters<typeof eventsOf>[0], least: number) =>
  vi.waitFor(async () => {
    const started = (await eventsOf(handle)).filter((event) => event.timerStartedEventAttributes);
    expect(started.length).toBeGreaterThanOrEqual(least);
  }, patient);

const noticeTo = (to: string, number: number, more: object = {}) => ({
  ...{ number, at: new Date().toISOString(), type: 'order.changed', data: { rawStatus: String(number) }, to },
  isLast: false,
  ...more,
});

/** Starts a run of `notices` with this first one. */
const startNotices = (
  { client, config: { taskQueue } }: Scripted,
  first: ReturnType<typeof noticeTo>,
  limits: object = {},
  maxWaiting = 20,
  key = { about: 'order/business/4711', firstRunId: randomUUID() as string, receiver: '0' },
) => {
  const args = [noticesSince(first as never, maxWaiting), { limits }];
  return client.workflow.start('notices', { workflowId: noticesId(key), taskQueue, args });
};

/** Of notices that their receivers never get. */
const noticePaths: Paths = {
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
      const to = 'https://receiver.example/hook';
      const handle = await startNotices(place, noticeTo(to, 1), { quietMs: 2_000 });
      for (let number = 2; number <= 6; number += 1)
        await handle.signal(noticeGivenSignal, noticeTo(to, number) as never);
      return await completed(handle);
    },
  ),
  'notices-of-which-too-many-wait': scripted({ notifyUrl: answers(undefined, 3_000) }, async (place) => {
    const to = 'https://receiver.example/hook';
    const handle = await startNotices(place, noticeTo(to, 1), { quietMs: 1_000 }, 2);
    await isPending(handle, 'notifyUrl');
    await handle.signal(noticeGivenSignal, { number: 'seven' } as never);
    for (let number = 2; number <= 5; number += 1)
      await handle.signal(noticeGivenSignal, noticeTo(to, number, { isLast: number === 5 }) as never);
    return await completed(handle);
  }),
  'notices-long-during-a-request': scripted({ notifyUrl: silent }, async (place) => {
    const to = 'https://receiver.example/hook';
    const handle = await startNotices(place, noticeTo(to, 1), { maxEvents: 10 });
    await isPending(handle, 'notifyUrl');
    for (let number = 2; number <= 4; number += 1)
      await handle.signal(noticeGivenSignal, noticeTo(to, number) as never);
    await continued(handle);
    await handle.terminate();
    return firstRunOf(handle);
  }),
  'notices-with-another-id': scripted({}, ({ client, config: { taskQueue } }) => {
    const args = [noticesSince(noticeTo('store', 1) as never, 20)];
    return ended(client.workflow.start('notices', { workflowId: randomUUID(), taskQueue, args }));
  }),
  'notices-that-the-store-refuses': scripted({ recordChange: () => fails() }, (place) =>
    completed(startNotices(place, noticeTo('store', 1, { isLast: true }), { quietMs: 1_000 })),
  ),
};

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
  await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
  return handle;
}

/** Of orders whose reads, watch or receivers let them down. */
const orderPaths: Paths = {
  'order-whose-read-was-ended-from-outside': scripted({ readOrder: () => fails() }, async (place) => {
    const handle = await follow(place);
    await timers(handle, 2); // that of the expiry, and the pause
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
  'order-stopped-during-a-refresh': scripted(
    { ...watched, readOrder: [() => reading('Driving'), silent] },
    async (place) => {
      const handle = await follow(place);
      await shows(handle, { status: 'Driving' });
      const refused = failureOf(handle.executeUpdate('refreshOrder'));
      await isPending(handle, 'readOrder');
      await stopped(handle);
      await refused;
      return handle;
    },
  ),
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
      await timers(handle, 2); // that of the expiry, and the wait for the share
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
      await timers(handle, 2);
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

const followed = { startFollowing: answers({}), refreshFollowed: () => fails() };
const created = { kind: 'done', result: { operation: 'createOrder', orderId } };
const create = answers(created);

/** Of rides. */
const ridePaths: Paths = {
  'ride-that-the-service-did-not-name': scripted(
    { attemptCall: [answers({ kind: 'done', result: { operation: 'createOrder' } }), create], ...followed },
    async (place) => {
      const { handle } = await requestedRide(place);
      await stands(handle, { attention: { code: 'outcomeUnknown' } });
      await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'recorded' }] });
      return await ended(handle);
    },
  ),
  'ride-whose-worker-told-of-the-store': scripted(
    {
      attemptCall: [answers({ kind: 'done', result: { operation: 'createOrder', orderId } }, 1_500), answers(done)],
      ...followed,
      awaitFollowed: silent,
      recordChange: answers(undefined),
    },
    async (place) => {
      const { handle } = await requestedRide(place);
      await isPending(handle, 'attemptCall');
      await handle.signal('claimed', { stores: false });
      await handle.signal('claimed', { stores: true });
      await stands(handle, { stage: 'following' });
      await handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] });
      return await ended(handle.cancel().then(() => handle));
    },
  ),
  'ride-with-hints-of-others': scripted(
    {
      attemptCall: answers({ kind: 'done', stores: true, result: { operation: 'createOrder', orderId } }, 1_000),
      ...followed,
      awaitFollowed: silent,
      recordChange: answers(undefined),
    },
    async (place) => {
      const { handle } = await requestedRide(place);
      const hint = (change: unknown) => handle.signal('rideOrderChanged', change as never);
      await isPending(handle, 'attemptCall');
      await hint({ account, orderId: null, status: 'Early' });
      await stands(handle, { stage: 'following' });
      const attention = { code: 'stuckInStatus', message: 'late', since: '2030-01-01T00:00:00.000Z' };
      const changes: unknown[] = [
        null,
        { account: 'partner', orderId, status: 'OfAnotherAccount' },
        { account, orderId: '4712', status: 'OfAnotherOrder' },
        { account, orderId, status: 7, attention: null },
        { account, orderId, status: 'Driving' },
        { account, orderId, attention },
        { account, orderId, status: 'Waiting', attention },
        { account, orderId, attention: null },
        { account, orderId, attention: { code: 'forbidden', message: 'no', since: attention.since } },
      ];
      for (const change of changes) {
        await hint(change);
        await sleep(300);
      }
      return await ended(handle.cancel().then(() => handle));
    },
  ),
  'ride-whose-end-others-tell': scripted(
    { attemptCall: answers(created, 1_000), ...followed, awaitFollowed: silent },
    async (place) => {
      const { handle } = await requestedRide(place);
      const hint = (change: unknown) => handle.signal('rideOrderChanged', change as never);
      await isPending(handle, 'attemptCall');
      await hint({ account, orderId: null, outcome: 'completed' });
      await stands(handle, { stage: 'following' });
      const changes: unknown[] = [
        'ended',
        { account: 'partner', orderId, outcome: 'completed' },
        { account, orderId: '4712', outcome: 'completed' },
        { account, orderId, outcome: 7 },
        { account, orderId, outcome: 'completed' },
        { account, orderId, outcome: 'cancelled' },
      ];
      for (const change of changes) {
        await hint(change);
        await sleep(300);
      }
      await handle.terminate();
      return handle;
    },
  ),
  ...Object.fromEntries(
    ['cancelled', 'rejected', 'stopped', 'expired'].map((outcome) => [
      `ride-${outcome}-with-a-receipt`,
      scripted(
        {
          ...{ attemptCall: create, startFollowing: answers(null), awaitReceipt: answers(receipt) },
          ...{ awaitFollowed: answers({ kind: 'trail', trail: { status: 'Ended', outcome, terminal: true } }) },
          readReceipt: answers(receipt),
        },
        async (place) => await completed((await requestedRide(place, { receipt: true })).handle),
      ),
    ]),
  ),
  'ride-whose-time-is-known': scripted({ attemptCall: create, ...followed, awaitFollowed: silent }, async (place) => {
    const { handle } = await requestedRide(place, {
      order: { product_id: 'p', scheduled_at: '2031-05-01T10:00:00.000Z' },
      notify: [{ workflowId: 'nobody', signal: 'rideChanged' }, { url: 'https://receiver.example/hook' }],
    });
    await stands(handle, { stage: 'following' });
    await handle.terminate();
    return handle;
  }),
  'ride-changed-in-doubt': scripted(
    {
      attemptCall: [
        answers({ kind: 'failed', sent: 'unknown', trouble: { ...unavailable, isFinal: true } }),
        answers(
          {
            kind: 'failed',
            sent: 'no',
            trouble: { ...unavailable, type: 'Refused', isFinal: true, details: [{ status: 422 }] },
          },
          1_500,
        ),
      ],
    },
    async (place) => {
      const { handle } = await requestedRide(place);
      const resolve = (how: object) => handle.executeUpdate('resolveRide', { args: [how as never] });
      const update = () =>
        failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'x' } }] }));
      await stands(handle, { attention: { code: 'outcomeUnknown' } });
      await update();
      await place.stopWorker();
      const resolving = [failureOf(resolve({ tryAgain: true })), failureOf(resolve({ tryAgain: true }))];
      await sleep(1_000);
      await place.startWorker();
      await vi.waitFor(
        async () => expect(await handle.query('rideStatus')).toMatchObject({ attention: null }),
        patient,
      );
      await Promise.all([update(), ...resolving]);
      return await ended(handle);
    },
  ),
  'ride-withdrawn-and-changed': scripted({ wasRideReset: answers(false) }, async (place) => {
    await place.stopWorker();
    const { handle } = await requestedRide(place);
    const cancelling = handle.executeUpdate('cancelRide');
    const updating = failureOf(handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'x' } }] }));
    await sleep(1_000);
    await place.startWorker();
    await Promise.all([cancelling, updating]);
    return await completed(handle);
  }),
  'ride-withdrawn-after-a-reset': scripted(
    { wasRideReset: answers(true), attemptCall: create, ...followed },
    async (place) => {
      await place.stopWorker();
      const { handle } = await requestedRide(place);
      const cancelling = failureOf(handle.executeUpdate('cancelRide'));
      await sleep(1_000);
      await place.startWorker();
      await cancelling;
      await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'recorded' }] });
      return await ended(handle);
    },
  ),
  'ride-without-receipts': scripted(
    {
      ...{ attemptCall: create, startFollowing: answers(null) },
      awaitFollowed: () => ({ kind: 'trail', trail: { status: 'Completed', outcome: 'completed', terminal: true } }),
      awaitReceipt: () => ({
        ...{ kind: 'trouble', notBefore: new Date().toISOString(), reads: 1 },
        trouble: { code: 'notOffered', message: 'no receipts', since: new Date().toISOString() },
      }),
    },
    async (place) => await completed((await requestedRide(place, { receipt: true })).handle),
  ),
  'ride-with-a-receipt-that-changes': scripted(
    {
      ...{ attemptCall: create, startFollowing: answers(null), recordChange: answers(undefined) },
      awaitFollowed: () => ({ kind: 'trail', trail: { status: 'Completed', outcome: 'completed', terminal: true } }),
      awaitReceipt: [
        () => ({
          ...{ kind: 'trouble', notBefore: new Date().toISOString(), reads: 1 },
          trouble: { code: 'forbidden', message: 'no', since: new Date().toISOString() },
        }),
        answers(receipt),
      ],
      readReceipt: [
        answers(receipt),
        answers({ ...receipt, amounts: { total: '12.50', currency: 'EUR' } }),
        answers({ ...receipt, receipt: { total: '13.50' }, amounts: { total: '13.50', currency: 'EUR' } }),
        () => ({
          ...{ kind: 'trouble', notBefore: new Date().toISOString(), reads: 1 },
          trouble: { code: 'upstreamUnavailable', message: 'no', since: new Date().toISOString() },
        }),
      ],
    },
    async (place) => await completed((await requestedRide(place, { receipt: true })).handle),
  ),
};

const registered = answers({
  ...{ kind: 'registered', sealedSecret: 'sealed' },
  subscriber: { id: 's-1', createdAt: null, updatedAt: null },
});

/** Of subscriptions, and of the gate before new versions. */
const subscriptionPaths: Paths = {
  'subscription-whose-request-was-ended': scripted(
    {
      createSubscriber: [() => fails(), registered],
      removeSubscriber: () => fails(),
      watchResets: () => fails(),
    },
    async (place) => {
      const run = await subscribe(place);
      await timers(run.handle, 1); // the pause before another address
      await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
      await run.active();
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'subscription-with-refused-input': scripted(
    {
      createSubscriber: () => fails('InvalidInput'),
      removeSubscriber: answers({ kind: 'removed', subscriberId: 's-1' }),
    },
    async (place) => ended((await subscribe(place)).handle),
  ),
  'subscription-moved-during-a-request': scripted(
    {
      createSubscriber: [silent, registered],
      removeSubscriber: answers({ kind: 'removed', subscriberId: 's-1' }),
      watchResets: silent,
    },
    async (place) => {
      const run = await subscribe(place);
      await isPending(run.handle, 'createSubscriber');
      await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
      await run.active();
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'subscription-reset': scripted(
    {
      createSubscriber: registered,
      removeSubscriber: answers({ kind: 'removed', subscriberId: 's-1' }),
      watchResets: [answers(undefined, 500), silent],
    },
    async (place) => {
      const run = await subscribe(place, { graceMs: 1_000 });
      await vi.waitFor(async () => expect((await run.status()).generations.length).toBeGreaterThan(1), patient);
      await vi.waitFor(async () => expect((await run.status()).generations).toHaveLength(1), patient);
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'replay-gate': scripted({ replayRunning: answers({ replayed: 3 }) }, ({ client, config: { taskQueue } }) =>
    completed(client.workflow.start('replayGate', { workflowId: `gate/${randomUUID()}`, taskQueue, args: [] })),
  ),
  'replay-gate-with-bad-input': scripted({}, ({ client, config: { taskQueue } }) =>
    ended(client.workflow.start('replayGate', { workflowId: `gate/${randomUUID()}`, taskQueue, args: ['all'] })),
  ),
};

/** Every way through the workflows that needs an activity which fails, stays silent or answers what it seldom does, by name. */
export const troublePaths: Paths = {
  ...callPaths,
  ...watchPaths,
  ...deliveryPaths,
  ...noticePaths,
  ...orderPaths,
  ...ridePaths,
  ...subscriptionPaths,
};

/** Those that take minutes. */
export const slowTroublePaths: Paths = {
  'call-whose-workers-died': scripted(
    { attemptCall: [silent, silent, answers(done)] },
    async (place) => await completed(startCall(place, 'cancelOrder', { orderId })),
  ),
  'ride-whose-create-takes-long': scripted(
    { attemptCall: [silent, answers(created, 25_000)], ...followed, awaitFollowed: silent },
    async (place) => {
      const { handle } = await requestedRide(place);
      await timers(handle, 2); // that of the attention, and the pause after the first attempt
      await vi.waitFor(async () => expect(await standingOf(handle)).toMatchObject({ stage: 'following' }), {
        ...patient,
        timeout: 120_000,
      });
      await handle.terminate();
      return handle;
    },
  ),
  'call-that-no-worker-takes': scripted({}, async (place) => {
    return await ended(startCall(place, 'orderDetails', { orderId }));
  }),
  'notices-given-up': scripted({ notifyUrl: () => Promise.reject(new Error('away')) }, (place) => {
    const at = new Date(Date.now() - 86_400_000).toISOString();
    return completed(
      startNotices(place, noticeTo('https://receiver.example/hook', 1, { at, isLast: true }), { quietMs: 1_000 }),
    );
  }),
};
