import { ApplicationFailure } from '@temporalio/common';
import { toOrderId } from '../../../../src/domain/keys.js';
import { startCall } from '../../../support/call/calls.js';
import { isPending } from '../../../support/runs.js';
import { completed, ended, type Paths } from '../path.js';
import { answers, fails, scripted, silent } from '../scripted.js';

const orderId = toOrderId('4711');
/** The answer of an attempt to cancel an order. */
export const done = { kind: 'done', result: { operation: 'cancelOrder', status: 200, body: null } };
/** Why an attempt failed. */
export const unavailable = { type: 'Unavailable', message: 'away', details: [], isFinal: false };

/** The service asks for a longer wait than the whole call may last. */
function turnsAway(): never {
  throw ApplicationFailure.create({ type: 'Unavailable', message: 'away', nextRetryDelay: '1 hour' });
}

/** Every way through calls that a worker or the service lets down, by name. */
export const callTroubles: Paths = {
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
  'call-refused-after-a-reset': scripted(
    {
      attemptCall: [
        answers({ kind: 'failed', sent: 'no', trouble: { ...unavailable, type: 'Refused', isFinal: true } }),
        answers(done),
      ],
      wasRideReset: answers(true),
    },
    async (place) => await completed(startCall(place, 'cancelOrder', { orderId })),
  ),
  'create-that-could-not-be-sent': scripted(
    {
      attemptCall: answers({ kind: 'failed', sent: 'no', trouble: { ...unavailable, isFinal: true } }),
      wasRideReset: answers(false),
    },
    async (place) => await ended(startCall(place, 'createOrder', { body: {} })),
  ),
  'call-ended-from-outside': scripted(
    { attemptCall: [() => fails(), answers(done)] },
    async (place) => await completed(startCall(place, 'cancelOrder', { orderId })),
  ),
  'call-to-read-ended-from-outside': scripted(
    { attemptCall: [() => fails(), answers(done)] },
    async (place) => await completed(startCall(place, 'orderDetails', { orderId })),
  ),
  'call-to-read-that-the-service-turns-away': scripted(
    { attemptCall: turnsAway },
    async (place) => await ended(startCall(place, 'orderDetails', { orderId })),
  ),
  'call-in-doubt-that-cannot-be-read': scripted(
    { attemptCall: [answers({ kind: 'failed', sent: 'unknown', trouble: unavailable }), turnsAway] },
    async (place) => await ended(startCall(place, 'cancelOrder', { orderId })),
  ),
  'call-that-the-service-never-takes': scripted(
    { attemptCall: answers({ kind: 'failed', sent: 'no', trouble: { ...unavailable, afterMs: 900_000 } }) },
    async (place) => await ended(startCall(place, 'orderDetails', { orderId })),
  ),
};

/** Those that take minutes. */
export const slowCallTroubles: Paths = {
  'call-whose-workers-died': scripted(
    { attemptCall: [silent, silent, answers(done)] },
    async (place) => await completed(startCall(place, 'cancelOrder', { orderId })),
  ),
  'call-that-no-worker-takes': scripted(
    {},
    async (place) => await ended(startCall(place, 'orderDetails', { orderId })),
  ),
};
