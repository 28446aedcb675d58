import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { notYet } from '../../../src/activities/failures.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import { aRead, LookStage, readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { delayOf, iso, logger, start } from '../temporal.js';

// Temporal never repeats an activity after a delay of 0.
it.each([
  [-5, 1],
  [0, 1],
  [0.2, 1],
  [1.2, 2],
])('an activity that wants to wait %d ms asks Temporal for %d ms', (ms, delayMs) => {
  expect(notYet('', ms).nextRetryDelay).toBe(delayMs);
});

it.each([
  ['of an order that its run has not handed over', false, 'Routing', 1],
  ['of an order that the watch has', true, 'Routing', 0],
  ['that finds the end', false, 'Completed', 0],
] as const)('a read %s sees to it that the watch runs, or need not', async (_, isWatched, word, starts) => {
  const stage = new LookStage({ ...readingOf(word), terminal: word === 'Completed' });
  expect((await stage.attempt(aRead({ isWatched }))).seen).toMatchObject({ kind: 'reading' });
  expect(stage.starts).toBe(starts);
});

it('a read that fails starts no watch', async () => {
  const stage = new LookStage(apiError('FORBIDDEN'));
  await stage.attempt(aRead({ isWatched: false }));
  expect(stage.starts).toBe(0);
});

it.each<[string, OrderReading]>([
  ['the first status', readingOf('Routing', { supplier: { name: 'a' } })],
  ['an unknown word', readingOf('On hold')],
  ['an end, in whose ride it looks for nothing', { ...readingOf('CareReq'), terminal: true }],
])('a read completes with %s', async (_, reading) => {
  const { seen } = await new LookStage(reading).attempt(aRead());
  expect(seen).toEqual({ kind: 'reading', reading: { ...reading, concern: null }, at: iso(start), reads: 1 });
});

it('a read makes no call before the instant in its input, and then one', async () => {
  const stage = new LookStage(readingOf('Driving'));
  const read = aRead({ notBefore: iso(start + 7_500) });
  const { failure } = await stage.attempt(read);
  expect(failure).toMatchObject({ type: 'NotYet', category: 'BENIGN', nextRetryDelay: 7_500 });
  stage.now += 7_499;
  expect(delayOf(await stage.attempt(read))).toBe(1);
  stage.now += 1;
  expect((await stage.attempt(read)).seen).toMatchObject({ kind: 'reading' });
  expect(stage.asked).toEqual([start + 7_500]);
});

it('a read ends with the cancellation when it is cancelled during the call', async () => {
  const environment = new MockActivityEnvironment({}, { logger });
  const stage = new LookStage();
  let isCalled = (): void => undefined;
  const called = new Promise<void>((resolve) => {
    isCalled = resolve;
  });
  stage.readOrder = (_account, _orderId, { signal } = {}) => {
    isCalled();
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  };
  const running = environment.run(() => stage.activities.readOrder(aRead().input));
  await called;
  environment.cancel();
  await expect(running).rejects.toBeInstanceOf(CancelledFailure);
});

it('a read leaves errors that are not about the service to the retry of Temporal', async () => {
  const error = new Error('a bug of ours');
  expect(await new LookStage(error).attempt(aRead())).toEqual({ error, heartbeats: [] });
});
