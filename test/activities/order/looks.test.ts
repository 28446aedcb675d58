import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createQuietTimes } from '../../../src/activities/authorized-call.js';
import { createOrderActivities, createProvenPaths } from '../../../src/activities/order.js';
import { account, createLookStage, delayOf, iso, logger, lookAt, readingOf, start } from '../attempts.js';

const minute = 60_000;

describe('a poll that finds the status unchanged', () => {
  it('fails as "not yet", benign and repeated at the pace of the order', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('ROUTING')];
    const { failure, heartbeats } = await stage.attempt('observeOrder', lookAt());
    expect(failure).toMatchObject({ type: 'NotYet', category: 'BENIGN', nonRetryable: false, nextRetryDelay: 10_000 });
    expect(failure?.message).toBe('Still Routing.');
    expect(failure?.stack).toBe(''); // Temporal keeps the failure, and a stack would be most of it
    expect(heartbeats).toEqual([]);
  });

  it.each([
    ['an order that stands for long', lookAt({ since: iso(start - 30 * minute) }), 30_000],
    ['a pushed order', lookAt({ pushed: true }), 120_000],
    ['a reserved order', lookAt({ shown: { rawStatus: 'Reserved', attention: null } }), 300_000],
    [
      'a reserved order shortly before the fast pace begins',
      lookAt({ shown: { rawStatus: 'Reserved', attention: null }, scheduledAt: iso(start + 31 * minute) }),
      minute,
    ],
  ] as const)('keeps the pace of %s', async (_, input, everyMs) => {
    const stage = createLookStage();
    stage.answers = [readingOf(String(input.shown.rawStatus))];
    expect(delayOf(await stage.attempt('observeOrder', input))).toBe(everyMs);
  });

  it('has news all the same when the pick-up was moved', async () => {
    const stage = createLookStage();
    const reserved = { shown: { rawStatus: 'Reserved', attention: null }, scheduledAt: iso(start + 24 * 60 * minute) };
    stage.answers = [readingOf('Reserved', { scheduledAt: iso(start + 10 * minute) })];
    expect((await stage.attempt('observeOrder', lookAt(reserved))).seen).toMatchObject({ kind: 'reading' });
    stage.answers = [readingOf('Reserved', { scheduledAt: 'soon' })];
    expect(delayOf(await stage.attempt('observeOrder', lookAt(reserved)))).toBe(300_000);
  });

  it('drifts apart from others by up to a tenth of its pace', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Routing')];
    stage.random = 0.5;
    expect(delayOf(await stage.attempt('observeOrder', lookAt()))).toBe(10_500);
  });

  it('never asks for a delay of 0, which would end the activity', async () => {
    const paces = fc.record({ since: fc.integer({ min: -minute, max: 10 ** 12 }), pushed: fc.boolean() });
    const pickups = fc.option(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }));
    const words = fc.constantFrom('Routing', 'Reserved', 'CareReq');
    const shares = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(paces, pickups, words, shares, async ({ since, pushed }, pickup, rawStatus, random) => {
        const stage = createLookStage();
        stage.random = random;
        stage.answers = [readingOf(rawStatus)];
        const scheduledAt = pickup === null ? null : iso(start + pickup);
        stage.shown = { status: rawStatus, runLength: 20 };
        const shown = { rawStatus, attention: null };
        const input = lookAt({ shown, since: iso(start - since), scheduledAt, pushed });
        expect(delayOf(await stage.attempt('observeOrder', input))).toBeGreaterThanOrEqual(10_000);
      }),
      { numRuns: 50 },
    );
  });

  it('asks the service once for each attempt', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Routing'), readingOf('Routing'), readingOf('Driving')];
    const attempts = await stage.run('observeOrder', lookAt());
    expect(stage.asked).toEqual([start, start + 10_000, start + 20_000]);
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading', reads: 3, at: iso(start + 20_000) });
  });
});

describe('a poll that begins after a read of the run', () => {
  it('waits for the rest of the pace, and asks then', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Routing'), readingOf('Driving')];
    const attempts = await stage.run('observeOrder', lookAt(), { lastReadAt: iso(start - 4_000) });
    expect(attempts[0]?.failure).toMatchObject({ type: 'NotYet', message: 'Still Routing.', nextRetryDelay: 6_000 });
    expect(stage.asked).toEqual([start + 6_000, start + 16_000]);
    expect(attempts.at(-1)?.seen).toMatchObject({ reads: 2 });
  });

  it.each([
    ['long ago', -minute, 1],
    ['by a clock that goes ahead', minute, 10_000],
  ])('waits neither for nothing nor longer than a pace after a read %s', async (_, offMs, delayMs) => {
    const stage = createLookStage();
    const attempt = await stage.attempt('observeOrder', lookAt(), { lastReadAt: iso(start + offMs) });
    expect(delayOf(attempt)).toBe(delayMs);
    expect(stage.asked).toEqual([]);
  });

  it('leaves it to the run to tell since when nobody had looked: its own pause may have been longer', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Driving')];
    const attempts = await stage.run('observeOrder', lookAt(), { lastReadAt: iso(start - 60 * minute) });
    expect(attempts.at(-1)?.seen).toMatchObject({ reads: 1 });
    expect(attempts.at(-1)?.seen).not.toHaveProperty('gapMs');
  });

  it('drifts apart from others', async () => {
    const stage = createLookStage();
    stage.random = 0.5;
    expect(delayOf(await stage.attempt('observeOrder', lookAt(), { lastReadAt: iso(start) }))).toBe(10_500);
  });

  it('asks at once when its wait was lost with a worker', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Driving')];
    const { seen } = await stage.attempt('observeOrder', lookAt(), { attempt: 2, lastReadAt: iso(start) });
    expect(seen).toMatchObject({ reading: { status: 'Driving' }, reads: 1 });
  });
});

describe('a poll of an order whose changes are announced', () => {
  const announced = lookAt({ pushed: true });

  it('has no news when the run shows the status already, whatever it showed at the beginning', async () => {
    const stage = createLookStage();
    stage.shown = { status: 'Driving', runLength: 40 };
    stage.answers = [readingOf('DRIVING')];
    const { failure } = await stage.attempt('observeOrder', announced);
    expect(failure).toMatchObject({ message: 'Still Driving.', nextRetryDelay: 120_000 });
  });

  it('finds a change back to the status of its beginning', async () => {
    const stage = createLookStage();
    stage.shown = { status: 'Driving', runLength: 40 };
    stage.answers = [readingOf('Routing')];
    const { seen } = await stage.attempt('observeOrder', announced);
    expect(seen).toMatchObject({ reading: { status: 'Routing' }, runLength: 40 });
  });

  it('asks the run before the service, and each time', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Routing'), readingOf('Driving')];
    expect((await stage.attempt('observeOrder', announced)).failure?.message).toBe('Still Routing.');
    stage.shown = { status: 'Driving', runLength: 60 };
    expect((await stage.attempt('observeOrder', announced)).failure?.message).toBe('Still Driving.');
  });

  it('asks nobody for the status when Temporal does not answer, and is repeated', async () => {
    const stage = createLookStage();
    stage.shown = new Error('unavailable');
    expect(await stage.attempt('observeOrder', announced)).toEqual({ error: stage.shown, heartbeats: [] });
    expect(stage.asked).toEqual([]);
  });

  it('alone asks the run: neither a read that somebody wants, nor a poll that finds its changes itself', async () => {
    const stage = createLookStage();
    stage.shown = new Error('asked');
    stage.answers = [readingOf('Driving')];
    for (const attempt of [stage.attempt('readOrder', announced), stage.attempt('observeOrder', lookAt())]) {
      expect((await attempt).seen).toMatchObject({ kind: 'reading' });
      expect((await attempt).seen).not.toHaveProperty('runLength');
    }
  });
});

describe('a poll that has news', () => {
  it.each([
    ['the first status', lookAt({ shown: { rawStatus: null, attention: null } }), 'Routing'],
    ['another status', lookAt(), 'Driving'],
    ['a word that nobody knows', lookAt(), 'On hold'],
    [
      'the same status while attention is shown',
      lookAt({ shown: { rawStatus: 'Routing', attention: 'forbidden' } }),
      'Routing',
    ],
  ])('completes with %s', async (_, input, word) => {
    const stage = createLookStage();
    const reading = readingOf(word, { supplier: { name: 'a' } });
    stage.answers = [reading];
    expect((await stage.attempt('observeOrder', input)).seen).toEqual({
      kind: 'reading',
      reading,
      at: iso(start),
      reads: 1,
    });
  });

  // The status is the same word, and yet this is news.
  it('completes when the contract profile has learnt that the status is an end', async () => {
    const stage = createLookStage();
    const input = lookAt({ shown: { rawStatus: 'Archived', attention: null } });
    stage.answers = [{ ...readingOf('Archived'), terminal: true }];
    expect((await stage.attempt('observeOrder', input)).seen).toMatchObject({ kind: 'reading' });
  });
});

describe('a one-shot read', () => {
  it('completes with an unchanged status', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Routing')];
    expect((await stage.attempt('readOrder', lookAt())).seen).toMatchObject({ kind: 'reading', reads: 1 });
  });

  it('completes with a changed status', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Driving')];
    expect((await stage.attempt('readOrder', lookAt())).seen).toMatchObject({ reading: { status: 'Driving' } });
  });
});

describe.each(['observeOrder', 'readOrder'] as const)('%s', (name) => {
  it('makes no call before the instant it is told, and then one', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Driving')];
    const input = lookAt({ notBefore: iso(start + 7_500) });
    const { failure } = await stage.attempt(name, input);
    expect(failure).toMatchObject({ type: 'NotYet', category: 'BENIGN', nextRetryDelay: 7_500 });
    expect(stage.asked).toEqual([]);
    stage.now += 7_499;
    expect(delayOf(await stage.attempt(name, input))).toBe(1);
    stage.now += 1;
    expect((await stage.attempt(name, input)).seen).toMatchObject({ kind: 'reading' });
    expect(stage.asked).toEqual([start + 7_500]);
  });

  it('ends with the cancellation when it is cancelled during the call', async () => {
    const environment = new MockActivityEnvironment({}, { logger });
    const activities = createOrderActivities({
      account: () => account,
      readOrder: (_account, _orderId, { signal } = {}) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      readShown: () => Promise.reject(new Error('this order is not announced')),
      quietTimes: createQuietTimes(),
      provenPaths: createProvenPaths(),
    });
    const running = environment.run(activities[name], lookAt());
    environment.cancel();
    await expect(running).rejects.toBeInstanceOf(CancelledFailure);
  });

  it('leaves errors that are not about the service to the retry of Temporal', async () => {
    const stage = createLookStage();
    const error = new Error('a bug of ours');
    stage.answers = [error];
    expect(await stage.attempt(name, lookAt())).toEqual({ error, heartbeats: [] });
  });
});

const second = 1_000;

/** The second attempt finds a change, `lateMs` after it was due. */
async function secondAttempt(lateMs: number, heartbeatDetails?: unknown) {
  const stage = createLookStage();
  const dueAt = start + 60 * second;
  stage.now = dueAt + lateMs;
  stage.answers = [readingOf('Driving')];
  const info = { attempt: 2, currentAttemptScheduledTimestampMs: dueAt, heartbeatDetails };
  return (await stage.attempt('observeOrder', lookAt(), info)).seen;
}

describe('a poll that finds a change', () => {
  it('tells for how long nobody had looked: its pause, and the wait for its turn', async () => {
    expect(await secondAttempt(3 * second)).toMatchObject({ kind: 'reading', gapMs: 13 * second });
  });

  it('counts trouble in between', async () => {
    const trouble = { code: 'upstreamUnavailable', message: '', failures: 2, notBefore: iso(start) };
    const seen = await secondAttempt(0, { ...trouble, since: iso(start + 20 * second) });
    expect(seen).toMatchObject({ kind: 'reading', gapMs: 50 * second });
  });

  it('tells nothing when it is the first to look', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Driving')];
    expect((await stage.attempt('observeOrder', lookAt())).seen).not.toHaveProperty('gapMs');
  });
});
