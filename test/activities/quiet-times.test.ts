import { describe, expect, it } from 'vitest';
import { createQuietTimes, QuietTime } from '../../src/activities/quiet-times.js';
import type { TokenSource } from '../../src/activities/token-source.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { apiError } from './api-errors.js';
import { account, answer, createLookStage, type LookStage, lookAt, readingOf, start } from './attempts.js';
import { fakeRideApi, orderReader, tokensInOrder } from './readers.js';

const minute = 60_000;
const other = lookAt({ orderId: toOrderId('4712') });

/** Both orders are read by one process, through the reader under test. */
const stageWith = (tokens: TokenSource = tokensInOrder()): LookStage =>
  createLookStage((stage) =>
    orderReader(
      fakeRideApi({ readOrder: async () => answer(stage) }),
      tokens,
      createQuietTimes(() => stage.now),
    ),
  );

describe('the quiet time of an account', () => {
  it('lasts as long as the service asked for', () => {
    let now = start;
    const quietTimes = createQuietTimes(() => now);
    quietTimes.begin(account.name, 7_000);
    now += 6_999;
    expect(() => quietTimes.check(account.name)).toThrow(QuietTime);
    now += 1;
    expect(() => quietTimes.check(account.name)).not.toThrow();
  });

  it('is not cut short by a shorter one', () => {
    const quietTimes = createQuietTimes(() => start);
    quietTimes.begin(account.name, 7_000);
    quietTimes.begin(account.name, 1_000);
    expect(() => quietTimes.check(account.name)).toThrow(expect.objectContaining({ leftMs: 7_000 }));
  });

  it('is not that of another account', () => {
    const quietTimes = createQuietTimes(() => start);
    quietTimes.begin(account.name, 7_000);
    expect(() => quietTimes.check(toAccountName('other'))).not.toThrow();
  });
});

describe('after a 429 with Retry-After', () => {
  it('other orders of the account make no call until it is over', async () => {
    const stage = stageWith();
    stage.answers = [apiError('RATE_LIMITED', 30), readingOf('Driving')];
    await stage.attempt('observeOrder', lookAt());
    stage.now += 10_000;
    const { failure, heartbeats } = await stage.attempt('observeOrder', other);
    expect(failure).toMatchObject({ type: 'UpstreamUnavailable', nextRetryDelay: 20_000 });
    expect(stage.asked).toEqual([start]);
    stage.now += 20_000;
    const next = await stage.attempt('observeOrder', other, { attempt: 2, heartbeatDetails: heartbeats.at(-1) });
    expect(next.seen).toMatchObject({ reading: { status: 'Driving' } });
    expect(stage.asked).toEqual([start, start + 30_000]);
  });

  it('a one-shot read makes no call either', async () => {
    const stage = stageWith();
    stage.answers = [apiError('RATE_LIMITED', 30), readingOf('Driving')];
    await stage.attempt('observeOrder', lookAt());
    expect((await stage.attempt('readOrder', other)).failure?.nextRetryDelay).toBe(30_000);
    expect(stage.asked).toHaveLength(1);
  });

  it('a long one is shown at every order after five minutes', async () => {
    const stage = stageWith();
    stage.answers = [apiError('RATE_LIMITED', 3_600), readingOf('Driving')];
    await stage.attempt('observeOrder', lookAt());
    const attempts = await stage.run('observeOrder', other);
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'trouble', attention: { code: 'upstreamUnavailable' } });
    expect(stage.now).toBe(start + 5 * minute);
    expect(stage.asked).toHaveLength(1);
  });

  it('the next call of a service that is well again ends it', async () => {
    const stage = stageWith();
    stage.answers = [apiError('UPSTREAM_FAILED', 2), readingOf('Driving')];
    await stage.run('observeOrder', lookAt());
    expect((await stage.attempt('observeOrder', other)).seen).toMatchObject({ kind: 'reading' });
  });

  // A token may be waited for for ten seconds.
  it('an order that was waiting for its token makes no call', async () => {
    const tokens = tokensInOrder();
    let hasToken = (): void => undefined;
    const waits: TokenSource = {
      ...tokens,
      async get(...args) {
        if (tokens.calls.length > 0) await new Promise<void>((resolve) => (hasToken = resolve));
        return await tokens.get(...args);
      },
    };
    const asked: string[] = [];
    const rideApi = fakeRideApi({
      async readOrder(_account, orderId) {
        asked.push(orderId);
        throw apiError('RATE_LIMITED', 30);
      },
    });
    const read = orderReader(rideApi, waits);
    const first = read(account, toOrderId('4711'));
    const second = read(account, toOrderId('4712'));
    await expect(first).rejects.toThrow('RATE_LIMITED');
    hasToken();
    await expect(second).rejects.toThrow();
    expect(asked).toEqual(['4711']);
  });
});

describe('a refusal without Retry-After', () => {
  it('concerns only the order that got it', async () => {
    const stage = stageWith();
    stage.answers = [apiError('UPSTREAM_FAILED'), readingOf('Driving')];
    await stage.attempt('observeOrder', lookAt());
    expect((await stage.attempt('observeOrder', other)).seen).toMatchObject({ kind: 'reading' });
  });
});
