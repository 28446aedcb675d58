import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { toOrderId } from '../../../../src/domain/keys.js';
import { type Outcome, openTrail } from '../../../../src/domain/order/trail.js';
import { patient } from '../../../support/patience.js';
import { account, failureOf, type RideRun, requestedRide, standingOf, stands } from '../../../support/ride/rides.js';
import { hasTimers, isPending } from '../../../support/runs.js';
import { completed, ended, type Paths } from '../path.js';
import { answers, fails, scripted, silent } from '../scripted.js';
import { done, unavailable } from './calls.js';
import { receipt } from './deliveries.js';

const orderId = toOrderId('4711');
const followed = { startFollowing: answers({}), refreshFollowed: () => fails() };
const result = { operation: 'createOrder', status: 201, body: {} };
const created = { kind: 'done', result: { ...result, orderId } };
const create = answers(created);
/** The run of the order ends so. */
const ends = (outcome: Outcome) => {
  const trail = openTrail({ account, orderId }, '2030-01-01T00:00:00.000Z');
  return answers({ kind: 'trail', trail: { ...trail, status: 'Ended', rawStatus: 'Ended', terminal: true, outcome } });
};

/** Tells the ride of changes, each in a task of its own. */
async function hint(ride: RideRun, ...changes: unknown[]): Promise<void> {
  for (const change of changes) {
    await ride.signal('rideOrderChanged', change as never);
    await sleep(300);
  }
}

/** Of rides. */
export const rideTroubles: Paths = {
  'ride-that-the-service-did-not-name': scripted(
    { attemptCall: [answers({ kind: 'done', result }), create], ...followed },
    async (place) => {
      const { handle } = await requestedRide(place);
      await stands(handle, { attention: { code: 'outcomeUnknown' } });
      await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'recorded' }] });
      return await ended(handle);
    },
  ),
  'ride-whose-worker-told-of-the-store': scripted(
    {
      attemptCall: [answers(created, 1_500), answers(done)],
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
      attemptCall: answers({ ...created, stores: true }, 1_000),
      ...followed,
      awaitFollowed: silent,
      recordChange: answers(undefined),
    },
    async (place) => {
      const { handle } = await requestedRide(place);
      await isPending(handle, 'attemptCall');
      await hint(handle, { account, orderId: null, status: 'Early' });
      await stands(handle, { stage: 'following' });
      const attention = { code: 'stuckInStatus', message: 'late', since: '2030-01-01T00:00:00.000Z' };
      await hint(
        handle,
        null,
        { account: 'partner', orderId, status: 'OfAnotherAccount' },
        { account, orderId: '4712', status: 'OfAnotherOrder' },
        { account, orderId, status: 7, attention: null },
        { account, orderId, status: 'Driving' },
        { account, orderId, attention },
        { account, orderId, status: 'Waiting', attention },
        { account, orderId, attention: null },
        { account, orderId, attention: { code: 'forbidden', message: 'no', since: attention.since } },
      );
      return await ended(handle.cancel().then(() => handle));
    },
  ),
  'ride-whose-end-others-tell': scripted(
    { attemptCall: answers(created, 1_000), ...followed, awaitFollowed: silent },
    async (place) => {
      const { handle } = await requestedRide(place);
      await isPending(handle, 'attemptCall');
      await hint(handle, { account, orderId: null, outcome: 'completed' });
      await stands(handle, { stage: 'following' });
      await hint(
        handle,
        'ended',
        { account: 'partner', orderId, outcome: 'completed' },
        { account, orderId: '4712', outcome: 'completed' },
        { account, orderId, outcome: 7 },
      );
      await handle.terminate();
      return handle;
    },
  ),
  ...Object.fromEntries(
    (['cancelled', 'rejected', 'stopped', 'expired'] as const).map((outcome) => [
      `ride-${outcome}-with-a-receipt`,
      scripted(
        {
          ...{ attemptCall: create, startFollowing: answers(null), awaitReceipt: answers(receipt) },
          awaitFollowed: ends(outcome),
          readReceipt: answers(receipt),
        },
        async (place) => await completed((await requestedRide(place, { receipt: true })).handle),
      ),
    ]),
  ),
  'ride-whose-end-is-told-early': scripted(
    { attemptCall: create, startFollowing: answers({}, 1_500), awaitFollowed: silent },
    async (place) => {
      const { handle } = await requestedRide(place);
      await isPending(handle, 'startFollowing');
      await hint(handle, { account, orderId, outcome: 'completed' });
      await isPending(handle, 'awaitFollowed');
      await handle.terminate();
      return handle;
    },
  ),
  'ride-with-a-receipt-as-in-production': scripted(
    {
      ...{ attemptCall: create, startFollowing: answers(null), awaitReceipt: answers(receipt) },
      awaitFollowed: ends('completed'),
    },
    async (place) => {
      const { handle } = await requestedRide(place, { receipt: true }, {});
      await hasTimers(handle, 3); // those of the call and of the look, and the pause before the next look
      await handle.terminate();
      return handle;
    },
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
      const resolving = Promise.allSettled([resolve({ tryAgain: true }), resolve({ tryAgain: true })]);
      await sleep(1_000);
      await place.startWorker();
      await vi.waitFor(
        async () => expect(await handle.query('rideStatus')).toMatchObject({ attention: null }),
        patient,
      );
      const updating = update();
      // One of the two decides. The service refuses that create, and the doubt stays.
      await Promise.all([updating, resolving]);
      await stands(handle, { attention: { code: 'outcomeUnknown' } });
      await resolve({ giveUp: true, reason: 'recorded' });
      return await ended(handle);
    },
  ),
  'ride-that-could-not-be-sent-after-a-reset': scripted(
    {
      attemptCall: answers({ kind: 'failed', sent: 'no', trouble: { ...unavailable, isFinal: true } }),
      wasRideReset: answers(true),
    },
    async (place) => {
      const { handle } = await requestedRide(place);
      await stands(handle, { attention: { code: 'outcomeUnknown' } });
      await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'recorded' }] });
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
      awaitFollowed: ends('completed'),
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
      awaitFollowed: ends('completed'),
      awaitReceipt: [
        () => ({
          ...{ kind: 'trouble', notBefore: new Date().toISOString(), reads: 1 },
          trouble: { code: 'forbidden', message: 'no', since: new Date().toISOString() },
        }),
        answers(receipt),
      ],
      readReceipt: [
        answers(receipt),
        answers({ ...receipt, amounts: { total: '12.50', currency: 'EUR', net: null, tax: null } }),
        answers({
          ...receipt,
          receipt: { total: '13.50' },
          amounts: { total: '13.50', currency: 'EUR', net: null, tax: null },
        }),
        () => ({
          ...{ kind: 'trouble', notBefore: new Date().toISOString(), reads: 1 },
          trouble: { code: 'upstreamUnavailable', message: 'no', since: new Date().toISOString() },
        }),
      ],
    },
    async (place) => await completed((await requestedRide(place, { receipt: true })).handle),
  ),
};

/** Those that take minutes. */
export const slowRideTroubles: Paths = {
  'ride-whose-create-takes-long': scripted(
    { attemptCall: [silent, answers(created, 25_000)], ...followed, awaitFollowed: silent },
    async (place) => {
      const { handle } = await requestedRide(place);
      await hasTimers(handle, 2); // that of the attention, and the pause after the first attempt
      await vi.waitFor(async () => expect(await standingOf(handle)).toMatchObject({ stage: 'following' }), {
        ...patient,
        timeout: 120_000,
      });
      await handle.terminate();
      return handle;
    },
  ),
};
