import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createQuietTimes } from '../../../src/activities/authorized-call.js';
import { createOrderActivities, createProvenPaths } from '../../../src/activities/order.js';
import type { LookInput } from '../../../src/domain/order/trail.js';
import { account, delayOf, iso, logger, lookAt, readingOf, stageWith, start } from '../attempts.js';

const minute = 60_000;

describe('a poll that finds the status unchanged', () => {
  it('fails as "not yet", benign and repeated at the pace of the order', async () => {
    const stage = stageWith(readingOf('ROUTING'));
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
    const stage = stageWith(readingOf(String(input.shown.rawStatus)));
    expect(delayOf(await stage.attempt('observeOrder', input))).toBe(everyMs);
  });

  it('has news all the same when the pick-up was moved', async () => {
    const stage = stageWith(readingOf('Reserved', { scheduledAt: iso(start + 10 * minute) }));
    const reserved = { shown: { rawStatus: 'Reserved', attention: null }, scheduledAt: iso(start + 24 * 60 * minute) };
    expect((await stage.attempt('observeOrder', lookAt(reserved))).seen).toMatchObject({ kind: 'reading' });
    stage.answers = [readingOf('Reserved', { scheduledAt: 'soon' })];
    expect(delayOf(await stage.attempt('observeOrder', lookAt(reserved)))).toBe(300_000);
  });

  it.each([null, iso(start)])('drifts apart from others by up to a tenth of its pace, last read at %s', async (at) => {
    const stage = stageWith(readingOf('Routing'));
    stage.random = 0.5;
    expect(delayOf(await stage.attempt('observeOrder', lookAt(), { lastReadAt: at }))).toBe(10_500);
  });

  it('never asks for a delay of 0, which would end the activity', async () => {
    const paces = fc.record({ since: fc.integer({ min: -minute, max: 10 ** 12 }), pushed: fc.boolean() });
    const pickups = fc.option(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }));
    const words = fc.constantFrom('Routing', 'Reserved', 'CareReq');
    const shares = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(paces, pickups, words, shares, async ({ since, pushed }, pickup, rawStatus, random) => {
        const stage = stageWith(readingOf(rawStatus));
        stage.random = random;
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
    const stage = stageWith(readingOf('Routing'), readingOf('Routing'), readingOf('Driving'));
    const attempts = await stage.run('observeOrder', lookAt());
    expect(stage.asked).toEqual([start, start + 10_000, start + 20_000]);
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading', reads: 3, at: iso(start + 20_000) });
  });
});

describe('a poll that begins after a read of the run', () => {
  it('waits for the rest of the pace, and asks then', async () => {
    const stage = stageWith(readingOf('Routing'), readingOf('Driving'));
    const attempts = await stage.run('observeOrder', lookAt(), { lastReadAt: iso(start - 4_000) });
    expect(attempts[0]?.failure).toMatchObject({ type: 'NotYet', message: 'Still Routing.', nextRetryDelay: 6_000 });
    expect(stage.asked).toEqual([start + 6_000, start + 16_000]);
    expect(attempts.at(-1)?.seen).toMatchObject({ reads: 2 });
  });

  it.each([
    ['long ago', -minute, 1],
    ['by a clock that goes ahead', minute, 10_000],
  ])('waits neither for nothing nor longer than a pace after a read %s', async (_, offMs, delayMs) => {
    const stage = stageWith();
    const attempt = await stage.attempt('observeOrder', lookAt(), { lastReadAt: iso(start + offMs) });
    expect(delayOf(attempt)).toBe(delayMs);
    expect(stage.asked).toEqual([]);
  });

  it('leaves it to the run to tell since when the order was not read: its own pause may have been longer', async () => {
    const limits = { lastReadAt: iso(start - 60 * minute) };
    const { seen } = (await stageWith(readingOf('Driving')).run('observeOrder', lookAt(), limits)).at(-1) ?? {};
    expect(seen).toMatchObject({ reads: 1 });
    expect(seen).not.toHaveProperty('gapMs');
  });

  it('asks at once when its wait was lost with a worker', async () => {
    const stage = stageWith(readingOf('Driving'));
    const { seen } = await stage.attempt('observeOrder', lookAt(), { attempt: 2, lastReadAt: iso(start) });
    expect(seen).toMatchObject({ reading: { status: 'Driving' }, reads: 1 });
  });
});

describe('a poll of an order whose changes are announced', () => {
  const announced = lookAt({ pushed: true });

  it('has no news when the run shows the status already, whatever it showed at the beginning', async () => {
    const stage = stageWith(readingOf('DRIVING'));
    stage.shown = { status: 'Driving', runLength: 40 };
    const { failure } = await stage.attempt('observeOrder', announced);
    expect(failure).toMatchObject({ message: 'Still Driving.', nextRetryDelay: 120_000 });
  });

  it('finds a change back to the status of its beginning', async () => {
    const stage = stageWith(readingOf('Routing'));
    stage.shown = { status: 'Driving', runLength: 40 };
    const { seen } = await stage.attempt('observeOrder', announced);
    expect(seen).toMatchObject({ reading: { status: 'Routing' }, runLength: 40 });
  });

  it('asks the run before the service, and each time', async () => {
    const stage = stageWith(readingOf('Routing'), readingOf('Driving'));
    for (const status of ['Routing', 'Driving']) {
      stage.shown = { status, runLength: 60 };
      expect((await stage.attempt('observeOrder', announced)).failure?.message).toBe(`Still ${status}.`);
    }
  });

  it('does not ask the service when Temporal does not answer, and is repeated', async () => {
    const stage = stageWith();
    stage.shown = new Error('unavailable');
    expect(await stage.attempt('observeOrder', announced)).toEqual({ error: stage.shown, heartbeats: [] });
    expect(stage.asked).toEqual([]);
  });

  it('alone asks the run: neither a read that a caller wants, nor a poll that finds its changes itself', async () => {
    const stage = stageWith(readingOf('Driving'));
    stage.shown = new Error('asked');
    for (const attempt of [stage.attempt('readOrder', announced), stage.attempt('observeOrder', lookAt())]) {
      expect((await attempt).seen).toMatchObject({ kind: 'reading' });
      expect((await attempt).seen).not.toHaveProperty('runLength');
    }
  });
});

describe('a poll that has news', () => {
  it.each<[string, LookInput, string?, boolean?]>([
    ['the first status', lookAt({ shown: { rawStatus: null, attention: null } }), 'Routing'],
    ['another status', lookAt(), 'Driving'],
    ['an unknown word', lookAt(), 'On hold'],
    ['the same status while attention is shown', lookAt({ shown: { rawStatus: 'Routing', attention: 'forbidden' } })],
    ['the same status, now an end', lookAt({ shown: { rawStatus: 'Archived', attention: null } }), 'Archived', true],
  ])('completes with %s', async (_, input, word = 'Routing', terminal = false) => {
    const reading = { ...readingOf(word, { supplier: { name: 'a' } }), terminal };
    const { seen } = await stageWith(reading).attempt('observeOrder', input);
    expect(seen).toEqual({ kind: 'reading', reading, at: iso(start), reads: 1 });
  });
});

it.each(['Routing', 'Driving'])('a one-shot read completes with any status, changed or not: %s', async (status) => {
  const { seen } = await stageWith(readingOf(status)).attempt('readOrder', lookAt());
  expect(seen).toMatchObject({ kind: 'reading', reads: 1, reading: { status } });
});

describe.each(['observeOrder', 'readOrder'] as const)('%s', (name) => {
  it('makes no call before the instant it is told, and then one', async () => {
    const stage = stageWith(readingOf('Driving'));
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
    const error = new Error('a bug of ours');
    expect(await stageWith(error).attempt(name, lookAt())).toEqual({ error, heartbeats: [] });
  });
});

const second = 1_000;

/** The second attempt finds a change, `lateMs` after it was due. */
async function secondAttempt(lateMs: number, heartbeatDetails?: unknown) {
  const stage = stageWith(readingOf('Driving'));
  const dueAt = start + 60 * second;
  stage.now = dueAt + lateMs;
  const info = { attempt: 2, currentAttemptScheduledTimestampMs: dueAt, heartbeatDetails };
  return (await stage.attempt('observeOrder', lookAt(), info)).seen;
}

describe('a poll that finds a change', () => {
  it('tells for how long the order was not read: its pause, and the wait for its turn', async () => {
    expect(await secondAttempt(3 * second)).toMatchObject({ kind: 'reading', gapMs: 13 * second });
  });

  it('counts trouble in between', async () => {
    const trouble = { code: 'upstreamUnavailable', message: '', failures: 2, notBefore: iso(start) };
    const seen = await secondAttempt(0, { ...trouble, since: iso(start + 20 * second) });
    expect(seen).toMatchObject({ kind: 'reading', gapMs: 50 * second });
  });

  it('tells nothing when it is the first to look', async () => {
    const { seen } = await stageWith(readingOf('Driving')).attempt('observeOrder', lookAt());
    expect(seen).not.toHaveProperty('gapMs');
  });
});
