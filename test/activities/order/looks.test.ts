import type { Info } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { notYet } from '../../../src/activities/failures.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import { aPoll, aRead, LookStage, pollAt, readingOf } from '../attempts.js';
import { delayOf, iso, logger, minute, second, start } from '../temporal.js';

describe('a poll that finds the status unchanged', () => {
  it('a poll without news fails as "not yet", benign and repeated at the pace of the order', async () => {
    const stage = new LookStage(readingOf('ROUTING'));
    const { failure, heartbeats } = await stage.attempt(aPoll());
    expect(failure).toMatchObject({ type: 'NotYet', category: 'BENIGN', nonRetryable: false, nextRetryDelay: 10_000 });
    expect(failure?.message).toBe('Still Routing.');
    expect(failure?.stack).toBe(''); // Temporal keeps the failure, and a stack would be most of it
    expect(heartbeats).toEqual([]);
  });

  const reserved = { rawStatus: 'Reserved' };
  it.each([
    ['an order whose status is old', { since: iso(start - 25 * minute) }, 25_000],
    ['a pushed order', { pushed: true }, 120_000],
    ['a reserved order', reserved, 300_000],
    [
      'a reserved order shortly before the fast pace begins',
      { ...reserved, scheduledAt: iso(start + 31 * minute) },
      minute,
    ],
  ] as const)('a poll keeps the pace of %s', async (_, more, everyMs) => {
    const poll = aPoll(more);
    const stage = new LookStage(readingOf(String(poll.input.rawStatus)));
    expect(delayOf(await stage.attempt(poll))).toBe(everyMs);
  });

  it('a poll has news when the pick-up was moved to another instant', async () => {
    const stage = new LookStage(readingOf('Reserved', { scheduledAt: iso(start + 10 * minute) }));
    const poll = aPoll({ ...reserved, scheduledAt: iso(start + 24 * 60 * minute) });
    expect((await stage.attempt(poll)).seen).toMatchObject({ struggle: null });
    stage.answers = [readingOf('Reserved', { scheduledAt: 'soon' })];
    expect(delayOf(await stage.attempt(poll))).toBe(300_000);
  });

  it.each([null, iso(start)])(
    'polls spread by up to a tenth of their pace when last read at %s',
    async (lastReadAt) => {
      const stage = new LookStage(readingOf('Routing'));
      stage.random = 0.5;
      expect(delayOf(await stage.attempt(aPoll({ lastReadAt })))).toBe(10_500);
    },
  );

  // Temporal never repeats an activity after a delay of 0.
  it.each([
    [-5, 1],
    [0, 1],
    [0.2, 1],
    [1.2, 2],
  ])('an activity that wants to wait %d ms asks Temporal for %d ms', (ms, delayMs) => {
    expect(notYet('', ms).nextRetryDelay).toBe(delayMs);
  });

  it('a poll asks the service once for each attempt', async () => {
    const stage = new LookStage(readingOf('Routing'), readingOf('Routing'), readingOf('Driving'));
    const attempts = await stage.run(aPoll());
    expect(stage.asked).toEqual([start, start + 10_000, start + 20_000]);
    expect(attempts.at(-1)?.seen).toEqual({ reads: 3, struggle: null, unchangedAt: iso(start + 10_000) });
  });
});

it('a poll after a read of the run first waits for the rest of the pace', async () => {
  const stage = new LookStage(readingOf('Routing'), readingOf('Driving'));
  const attempts = await stage.run(aPoll({ lastReadAt: iso(start - 4_000) }));
  expect(attempts[0]?.failure).toMatchObject({ type: 'NotYet', message: 'Still Routing.', nextRetryDelay: 6_000 });
  expect(stage.asked).toEqual([start + 6_000, start + 16_000]);
  expect(attempts.at(-1)?.seen).toMatchObject({ reads: 2 });
});

it.each([
  ['long ago', -minute, 1],
  ['by a clock that goes ahead', minute, 10_000],
])('a poll waits between a moment and one pace after a read %s', async (_, offMs, delayMs) => {
  const stage = new LookStage();
  const attempt = await stage.attempt(aPoll({ lastReadAt: iso(start + offMs) }));
  expect(delayOf(attempt)).toBe(delayMs);
  expect(stage.asked).toEqual([]);
});

describe('a poll that finds another status than it knows', () => {
  const workflowExecution = { workflowId: 'order/partner/4711', runId: 'r' };
  const poll = (stage: LookStage, info: Partial<Info> = {}) =>
    stage.attempt(aPoll({ pushed: true }), { workflowExecution, ...info });

  it('ends if the run shows another one too', async () => {
    const stage = new LookStage(readingOf('DRIVING'));
    expect((await poll(stage)).seen).toEqual({ reads: 1, struggle: null, unchangedAt: null });
    expect(stage.asks).toBe(1);
  });

  it('goes on if a delivery has led the run there, and asks no more about that status', async () => {
    const stage = new LookStage(readingOf('DRIVING'));
    stage.shown = { status: 'Driving', concern: null, isAnnounced: true };
    const { failure, heartbeats } = await poll(stage);
    expect(failure).toMatchObject({ type: 'NotYet', nextRetryDelay: 120_000 });
    const next = await poll(stage, { attempt: 2, heartbeatDetails: heartbeats.at(-1) });
    expect(next.failure?.message).toBe('Still Driving.');
    expect(stage.asks).toBe(1);
    stage.answers = [readingOf('Routing')];
    expect((await poll(stage, { attempt: 3, heartbeatDetails: heartbeats.at(-1) })).seen).toMatchObject({ reads: 3 });
  });

  it.each([
    ['has the pace of an announced order from then on if a delivery has led the run there', true, 120_000],
    ['keeps its pace if a read has led the run there', false, 10_000],
  ])('%s', async (_, isAnnounced, paceMs) => {
    const stage = new LookStage(readingOf('Driving'));
    stage.shown = { status: 'Driving', concern: null, isAnnounced };
    const { failure, heartbeats } = await stage.attempt(aPoll(), { workflowExecution });
    expect(failure).toMatchObject({ message: 'Still Driving.', nextRetryDelay: paceMs });
    const next = { workflowExecution, attempt: 2, heartbeatDetails: heartbeats.at(-1) };
    expect(delayOf(await stage.attempt(aPoll(), next))).toBe(paceMs);
  });

  it('is repeated when Temporal does not answer', async () => {
    const stage = new LookStage(readingOf('Driving'));
    stage.shown = new Error('unavailable');
    expect(await poll(stage)).toEqual({ error: stage.shown, heartbeats: [] });
  });

  it('asks the run nothing while the status is unchanged, or has ended', async () => {
    const stage = new LookStage(readingOf('Routing'), { ...readingOf('Completed'), terminal: true });
    expect((await poll(stage)).failure?.message).toBe('Still Routing.');
    expect((await poll(stage)).seen).toMatchObject({ struggle: null });
    expect(stage.asks).toBe(0);
  });
});

const trouble = { code: 'upstreamUnavailable', message: '', failures: 2, notBefore: iso(start) };
it.each([
  ['its pause and the wait for its turn', 3, undefined, 10],
  ['its pause and the trouble in between', 0, { ...trouble, since: iso(start + 20 * second) }, 50],
])('a poll that ends tells since when the order may have changed: %s', async (_, late, struggle, before) => {
  const stage = new LookStage(readingOf('Driving'));
  const dueAt = start + minute;
  stage.now = dueAt + late * second;
  const heartbeatDetails = struggle && { known: pollAt(), struggle };
  const { seen } = await stage.attempt(aPoll(), {
    attempt: 2,
    currentAttemptScheduledTimestampMs: dueAt,
    heartbeatDetails,
  });
  expect(seen).toMatchObject({ unchangedAt: iso(dueAt - before * second) });
});

it.each<[string, OrderReading]>([
  ['the first status', readingOf('Routing', { supplier: { name: 'a' } })],
  ['an unknown word', readingOf('On hold')],
  ['an end', { ...readingOf('Archived'), terminal: true }],
])('a read completes with %s', async (_, reading) => {
  const { seen } = await new LookStage(reading).attempt(aRead());
  expect(seen).toEqual({ kind: 'reading', reading: { ...reading, concern: null }, at: iso(start), reads: 1 });
});

it('an unreadable instant in the input neither keeps a look waiting nor lets it through the waits of its account', async () => {
  const stage = new LookStage(readingOf('Driving'));
  const manners: unknown[] = [];
  stage.readOrder = async (_account, _orderId, manner) => {
    manners.push(manner);
    return stage.answer();
  };
  const { seen } = await stage.attempt(aRead({ notBefore: 'later', forPerson: true }));
  expect(seen).toMatchObject({ kind: 'reading' });
  expect(manners).toEqual([expect.objectContaining({ isThrough: false })]);
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

describe.each([aPoll(), aRead()])('$name', (looking) => {
  const { name } = looking;

  it(`${name} ends with the cancellation when it is cancelled during the call`, async () => {
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
    const running = environment.run(() =>
      looking.name === 'readOrder'
        ? stage.activities.readOrder(looking.input)
        : stage.activities.observeOrder(looking.input),
    );
    await called;
    environment.cancel();
    await expect(running).rejects.toBeInstanceOf(CancelledFailure);
  });

  it(`${name} leaves errors that are not about the service to the retry of Temporal`, async () => {
    const error = new Error('a bug of ours');
    expect(await new LookStage(error).attempt(looking)).toEqual({ error, heartbeats: [] });
  });
});
