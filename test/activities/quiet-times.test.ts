import { describe, expect, it } from 'vitest';
import { createAuthorizedCall, createQuietTimes, QuietTime } from '../../src/activities/authorized-call.js';
import type { TokenSource } from '../../src/activities/token-source.js';
import { toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import { apiError } from './api-errors.js';
import { account, answer, createLookStage, iso, type LookStage, lookAt, readingOf, start } from './attempts.js';
import { fakeRideApi, orderReader, tokensInOrder } from './readers.js';

const minute = 60_000;
const other = lookAt({ orderId: toOrderId('4712') });

/** Both orders are read by one process, through the reader under test. */
function stageWith(answers: LookStage['answers'], tokens: TokenSource = tokensInOrder()): LookStage {
  const stage = createLookStage((on) =>
    orderReader(fakeRideApi({ readOrder: async () => answer(on) }), tokens, on.quietTimes, on.provenPaths),
  );
  stage.answers = answers;
  return stage;
}

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

  it('is neither cut short by a shorter one nor that of another account', () => {
    const quietTimes = createQuietTimes(() => start);
    for (const ms of [7_000, 1_000]) quietTimes.begin(account.name, ms);
    expect(() => quietTimes.check(account.name)).toThrow(expect.objectContaining({ leftMs: 7_000 }));
    expect(() => quietTimes.check(toAccountName('other'))).not.toThrow();
  });
});

describe('after a 429 with Retry-After', () => {
  it('other orders of the account make no call until it is over, and no one-shot read does', async () => {
    const stage = stageWith([apiError('RATE_LIMITED', 30), readingOf('Driving')]);
    await stage.attempt('observeOrder', lookAt());
    expect((await stage.attempt('readOrder', other)).failure?.nextRetryDelay).toBe(30_000);
    stage.now += 10_000;
    const { failure, heartbeats } = await stage.attempt('observeOrder', other);
    expect(failure).toMatchObject({ type: 'UpstreamUnavailable', nextRetryDelay: 20_000 });
    expect(stage.asked).toEqual([start]);
    stage.now += 20_000;
    const next = await stage.attempt('observeOrder', other, { attempt: 2, heartbeatDetails: heartbeats.at(-1) });
    expect(next.seen).toMatchObject({ reading: { status: 'Driving' } });
    expect(stage.asked).toEqual([start, start + 30_000]);
  });

  it('a long one is shown at every order at once, with its end', async () => {
    const stage = stageWith([apiError('RATE_LIMITED', 599), readingOf('Driving')]);
    await stage.attempt('observeOrder', lookAt());
    const attempts = await stage.run('observeOrder', other);
    const attention = {
      code: 'upstreamUnavailable',
      message: expect.stringContaining('until 2031-05-01 10:09:59 UTC'),
    };
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'trouble', attention, notBefore: iso(start + 599_000) });
    expect(stage.now).toBe(start);
    expect(stage.asked).toHaveLength(1);
  });

  it('the next call of a service that is well again ends it', async () => {
    const stage = stageWith([apiError('UPSTREAM_FAILED', 2), readingOf('Driving')]);
    await stage.run('observeOrder', lookAt());
    expect((await stage.attempt('observeOrder', other)).seen).toMatchObject({ kind: 'reading' });
  });

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

describe('a read that a person asked for', () => {
  const byPerson = lookAt({ forPerson: true });
  const shown = { rawStatus: 'Routing', attention: 'upstreamUnavailable' } as const;
  async function quietStage(...answers: LookStage['answers']) {
    const stage = stageWith([apiError('RATE_LIMITED', 599), ...answers]);
    await stage.attempt('observeOrder', other);
    stage.asked.length = 0;
    return stage;
  }

  it('is sent at once, though the account and the run have to wait', async () => {
    const stage = await quietStage(readingOf('Driving'));
    const notBefore = iso(start + 599_000);
    const { seen } = await stage.attempt('readOrder', lookAt({ forPerson: true, shown, notBefore }));
    expect(seen).toMatchObject({ kind: 'reading', reading: { status: 'Driving' } });
    expect(stage.asked).toEqual([start]);
  });

  it('waits for its turn, once a minute for each account, and is never answered without a read', async () => {
    const stage = await quietStage(readingOf('Driving'));
    await stage.attempt('readOrder', byPerson);
    stage.now += 1_000;
    const attempts = await stage.run('readOrder', { ...byPerson, shown });
    expect(attempts[0]?.failure).toMatchObject({ type: 'NotYet', nextRetryDelay: 59_000 });
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading' });
    expect(stage.asked).toEqual([start, start + minute]);
  });

  it('is answered by what the service says to it, even that it has to wait on', async () => {
    const stage = await quietStage(apiError('RATE_LIMITED', 599));
    const { seen } = await stage.attempt('readOrder', { ...byPerson, shown });
    expect(seen).toMatchObject({ kind: 'trouble', attention: { code: 'upstreamUnavailable' } });
    expect(stage.asked).toEqual([start]);
  });

  it('takes its turn when the wait begins while it looks for its token', async () => {
    const tokens = tokensInOrder();
    const stage = stageWith([readingOf('Driving')], {
      ...tokens,
      async get(...args) {
        if (tokens.calls.length === 0) stage.quietTimes.begin(account.name, 599_000);
        return await tokens.get(...args);
      },
    });
    const attempts = await stage.run('readOrder', byPerson);
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading' });
    expect(stage.now - start).toBeLessThan(1_000);
  });

  it('leaves the turn to others while nothing has to wait', async () => {
    const stage = stageWith([readingOf('Routing')]);
    for (let times = 0; times < 3; times += 1) await stage.attempt('readOrder', byPerson);
    expect(stage.asked).toHaveLength(3);
    expect(stage.quietTimes.takeTurn(account.name)).toBe(0);
  });

  it('is another thing than a read after a delivery, which waits and is not answered by the wait', async () => {
    const stage = await quietStage(readingOf('Driving'));
    const attempts = await stage.run('readOrder', lookAt({ shown }));
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading' });
    expect(stage.asked).toEqual([start + 599_000]);
  });
});

describe('a refusal without Retry-After', () => {
  it('concerns only the order that got it', async () => {
    const stage = stageWith([apiError('UPSTREAM_FAILED'), readingOf('Driving')]);
    await stage.attempt('observeOrder', lookAt());
    expect((await stage.attempt('observeOrder', other)).seen).toMatchObject({ kind: 'reading' });
  });
});

/** A call whose tokens take so long and were asked for at these times, to a service that rejects the first of them. */
function callWith({ tokenWaitMs = 0, askedAt = [] as number[], rejections = 1 }) {
  let nowMs = start;
  const now = () => nowMs;
  const tokens = tokensInOrder(askedAt);
  const sent: string[] = [];
  const get: TokenSource['get'] = async (...args) => {
    nowMs += tokenWaitMs;
    return await tokens.get(...args);
  };
  const call = createAuthorizedCall({ tokens: { ...tokens, get }, quietTimes: createQuietTimes(now), now });
  const send = async (token: string) => {
    sent.push(token);
    if (sent.length <= rejections) throw apiError('TOKEN_REJECTED');
    return 'answered';
  };
  return { sent, tokens, called: () => call(account, toScope('order'), 'readOrder', send) };
}

it('a call that has waited for its token gives its turn back, so that not all are sent at once when it comes', async () => {
  const { sent, called } = callWith({ tokenWaitMs: 251 });
  await expect(called()).rejects.toMatchObject({ code: 'QuietTime', leftMs: 100 });
  expect(sent).toEqual([]);
});

it('a call whose token came in a moment is sent, and once more with another one after a 401', async () => {
  const { sent, called } = callWith({ tokenWaitMs: 250 });
  expect(await called()).toBe('answered');
  expect(sent).toEqual(['clear token-1', 'clear token-2']);
});

it('a token that was asked for before the 401 is no fresh one: a third is tried, and no more; the fleet is told of a fresh one', async () => {
  const tried = async (askedAt: number[], rejections: number) => {
    const { sent, tokens, called } = callWith({ askedAt, rejections });
    const outcome = await called().catch(({ code }: { code: string }) => code);
    return [outcome, sent.length, ...tokens.rejectedAfresh.map(({ tokenId }) => tokenId)];
  };
  const old = start - 1;
  expect(await tried([old, old], 2)).toEqual(['answered', 3]);
  expect(await tried([old, start], 2)).toEqual(['TOKEN_REJECTED', 2, 'token-2']);
  expect(await tried([old, old, old, old], 9)).toEqual(['TOKEN_REJECTED', 3]);
});
