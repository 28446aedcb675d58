import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { notYet } from '../../../src/activities/failures.js';
import type { LookInput } from '../../../src/domain/order/trail.js';
import { LookStage, lookAt, readingOf } from '../attempts.js';
import { delayOf, iso, logger, minute, second, start } from '../temporal.js';

describe('a poll that finds the status unchanged', () => {
  it('a poll without news fails as "not yet", benign and repeated at the pace of the order', async () => {
    const stage = new LookStage(readingOf('ROUTING'));
    const { failure, heartbeats } = await stage.attempt('observeOrder', lookAt());
    expect(failure).toMatchObject({ type: 'NotYet', category: 'BENIGN', nonRetryable: false, nextRetryDelay: 10_000 });
    expect(failure?.message).toBe('Still Routing.');
    expect(failure?.stack).toBe(''); // Temporal keeps the failure, and a stack would be most of it
    expect(heartbeats).toEqual([]);
  });

  const reserved = { shown: { rawStatus: 'Reserved', attention: null } };
  it.each([
    ['an order whose status is old', { since: iso(start - 30 * minute) }, 30_000],
    ['a pushed order', { pushed: true }, 120_000],
    ['a reserved order', reserved, 300_000],
    [
      'a reserved order shortly before the fast pace begins',
      { ...reserved, scheduledAt: iso(start + 31 * minute) },
      minute,
    ],
  ] as const)('a poll keeps the pace of %s', async (_, more, everyMs) => {
    const input = lookAt(more);
    const stage = new LookStage(readingOf(String(input.shown.rawStatus)));
    expect(delayOf(await stage.attempt('observeOrder', input))).toBe(everyMs);
  });

  it('a poll has news when the pick-up was moved to another instant', async () => {
    const stage = new LookStage(readingOf('Reserved', { scheduledAt: iso(start + 10 * minute) }));
    const input = lookAt({ ...reserved, scheduledAt: iso(start + 24 * 60 * minute) });
    expect((await stage.attempt('observeOrder', input)).seen).toMatchObject({ kind: 'reading' });
    stage.answers = [readingOf('Reserved', { scheduledAt: 'soon' })];
    expect(delayOf(await stage.attempt('observeOrder', input))).toBe(300_000);
  });

  it.each([null, iso(start)])(
    'polls spread by up to a tenth of their pace when last read at %s',
    async (lastReadAt) => {
      const stage = new LookStage(readingOf('Routing'));
      stage.random = 0.5;
      expect(delayOf(await stage.attempt('observeOrder', lookAt(), { lastReadAt }))).toBe(10_500);
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
    const attempts = await stage.run('observeOrder', lookAt());
    expect(stage.asked).toEqual([start, start + 10_000, start + 20_000]);
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading', reads: 3, at: iso(start + 20_000) });
  });
});

it('a poll after a read of the run first waits for the rest of the pace', async () => {
  const stage = new LookStage(readingOf('Routing'), readingOf('Driving'));
  const attempts = await stage.run('observeOrder', lookAt(), { lastReadAt: iso(start - 4_000) });
  expect(attempts[0]?.failure).toMatchObject({ type: 'NotYet', message: 'Still Routing.', nextRetryDelay: 6_000 });
  expect(stage.asked).toEqual([start + 6_000, start + 16_000]);
  expect(attempts.at(-1)?.seen).toMatchObject({ reads: 2 });
});

it.each([
  ['long ago', -minute, 1],
  ['by a clock that goes ahead', minute, 10_000],
])('a poll waits between a moment and one pace after a read %s', async (_, offMs, delayMs) => {
  const stage = new LookStage();
  const attempt = await stage.attempt('observeOrder', lookAt(), { lastReadAt: iso(start + offMs) });
  expect(delayOf(attempt)).toBe(delayMs);
  expect(stage.asked).toEqual([]);
});

// Only the run knows since when the order was not read: its own pause may have been longer.
it('a poll whose wait was lost with a worker asks at once, and names no gap', async () => {
  const reading = readingOf('Driving');
  const about = { attempt: 2, lastReadAt: iso(start) };
  const { seen } = await new LookStage(reading).attempt('observeOrder', lookAt(), about);
  expect(seen).toEqual({ kind: 'reading', reading, at: iso(start), reads: 1 });
});

describe('a poll of an order whose changes are announced', () => {
  const announced = lookAt({ pushed: true });

  it('a poll of a pushed order compares with the status that the run shows now, not at its beginning', async () => {
    const stage = new LookStage(readingOf('DRIVING'));
    stage.shown = { status: 'Driving', concern: null, runLength: 40 };
    const { failure } = await stage.attempt('observeOrder', announced);
    expect(failure).toMatchObject({ message: 'Still Driving.', nextRetryDelay: 120_000 });
    stage.answers = [readingOf('Routing')];
    const { seen } = await stage.attempt('observeOrder', announced);
    expect(seen).toMatchObject({ reading: { status: 'Routing' }, runLength: 40 });
  });

  it('a poll of a pushed order asks the run before the service, in each attempt', async () => {
    const stage = new LookStage(readingOf('Routing'), readingOf('Driving'));
    for (const status of ['Routing', 'Driving']) {
      stage.shown = { status, concern: null, runLength: 60 };
      expect((await stage.attempt('observeOrder', announced)).failure?.message).toBe(`Still ${status}.`);
    }
  });

  it('a poll of a pushed order does not ask the service when Temporal does not answer, and is repeated', async () => {
    const stage = new LookStage();
    stage.shown = new Error('unavailable');
    expect(await stage.attempt('observeOrder', announced)).toEqual({ error: stage.shown, heartbeats: [] });
    expect(stage.asked).toEqual([]);
  });

  it.each([
    ['readOrder', announced],
    ['observeOrder', lookAt()],
  ] as const)(
    'neither a one-shot read nor a poll of an order that is not pushed asks the run: %s',
    async (name, input) => {
      const stage = new LookStage(readingOf('Driving'));
      stage.shown = new Error('asked');
      const { seen } = await stage.attempt(name, input);
      expect(seen).toMatchObject({ kind: 'reading' });
      expect(seen).not.toHaveProperty('runLength');
    },
  );
});

describe('a look that has news', () => {
  it.each<[string, LookInput, string?, boolean?]>([
    ['the first status', lookAt({ shown: { rawStatus: null, attention: null } }), 'Routing'],
    ['another status', lookAt(), 'Driving'],
    ['an unknown word', lookAt(), 'On hold'],
    ['the same status while attention is shown', lookAt({ shown: { rawStatus: 'Routing', attention: 'forbidden' } })],
    ['the same status, now an end', lookAt({ shown: { rawStatus: 'Archived', attention: null } }), 'Archived', true],
  ])('a poll completes with %s', async (_, input, word = 'Routing', terminal = false) => {
    const reading = { ...readingOf(word, { supplier: { name: 'a' } }), terminal };
    const { seen } = await new LookStage(reading).attempt('observeOrder', input);
    expect(seen).toEqual({ kind: 'reading', reading, at: iso(start), reads: 1 });
  });

  it.each(['Routing', 'Driving'])('a one-shot read completes with any status, changed or not: %s', async (status) => {
    const { seen } = await new LookStage(readingOf(status)).attempt('readOrder', lookAt());
    expect(seen).toMatchObject({ kind: 'reading', reads: 1, reading: { status } });
  });

  const trouble = { code: 'upstreamUnavailable', message: '', failures: 2, notBefore: iso(start) };
  it.each([
    ['its pause and the wait for its turn', 3, undefined, 13],
    ['its pause and the trouble in between', 0, { ...trouble, since: iso(start + 20 * second) }, 50],
  ])(
    'a poll that finds a change tells for how long the order was not read: %s',
    async (_, late, heartbeatDetails, gap) => {
      const stage = new LookStage(readingOf('Driving'));
      const dueAt = start + minute;
      stage.now = dueAt + late * second;
      const info = { attempt: 2, currentAttemptScheduledTimestampMs: dueAt, heartbeatDetails };
      const { seen } = await stage.attempt('observeOrder', lookAt(), info);
      expect(seen).toMatchObject({ kind: 'reading', gapMs: gap * second });
    },
  );
});

it('an unreadable instant in the input neither keeps a look waiting nor lets it through the waits of its account', async () => {
  const stage = new LookStage(readingOf('Driving'));
  const manners: unknown[] = [];
  stage.readOrder = async (_account, _orderId, manner) => {
    manners.push(manner);
    return stage.answer();
  };
  const { seen } = await stage.attempt('readOrder', lookAt({ notBefore: 'later', forPerson: true }));
  expect(seen).toMatchObject({ kind: 'reading' });
  expect(manners).toEqual([expect.objectContaining({ isThrough: false })]);
});

describe.each(['observeOrder', 'readOrder'] as const)('%s', (name) => {
  it(`${name} makes no call before the instant in its input, and then one`, async () => {
    const stage = new LookStage(readingOf('Driving'));
    const input = lookAt({ notBefore: iso(start + 7_500) });
    const { failure } = await stage.attempt(name, input);
    expect(failure).toMatchObject({ type: 'NotYet', category: 'BENIGN', nextRetryDelay: 7_500 });
    stage.now += 7_499;
    expect(delayOf(await stage.attempt(name, input))).toBe(1);
    stage.now += 1;
    expect((await stage.attempt(name, input)).seen).toMatchObject({ kind: 'reading' });
    expect(stage.asked).toEqual([start + 7_500]);
  });

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
    const running = environment.run(stage.activities[name], lookAt());
    await called;
    environment.cancel();
    await expect(running).rejects.toBeInstanceOf(CancelledFailure);
  });

  it(`${name} leaves errors that are not about the service to the retry of Temporal`, async () => {
    const error = new Error('a bug of ours');
    expect(await new LookStage(error).attempt(name, lookAt())).toEqual({ error, heartbeats: [] });
  });
});
