import { describe, expect, it } from 'vitest';
import { createAuthorizedCall, createQuietTimes } from '../../src/activities/authorized-call.js';
import { createOrderReader } from '../../src/activities/order.js';
import type { TokenSource } from '../../src/activities/token.js';
import { UnusableReply } from '../../src/contracts/unusable-reply.js';
import type { FailureStreak } from '../../src/domain/failure-streak.js';
import { toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import { RideApiGarbled, RideApiUnreachable } from '../../src/ride-api/errors.js';
import { account, aRead, LookStage, readingOf } from './attempts.js';
import { apiError, apiErrorCodes, fakeRideApi, nextOf, tokensInOrder } from './service.js';
import { iso, start } from './temporal.js';

const other = aRead({ orderId: toOrderId('4712') });
const rejected = apiError('TOKEN_REJECTED');

interface CallSettings {
  answers?: (string | Error)[];
  /** How long the call waits for each token. */
  tokenWaitMs?: number;
  /** The wait of the account that begins meanwhile. */
  quietMs?: number;
}

function callWith({ answers = ['answered'], tokenWaitMs = 0, quietMs = 0 }: CallSettings) {
  let nowMs = start;
  const now = () => nowMs;
  const quietTimes = createQuietTimes(now);
  const tokens = tokensInOrder();
  const sent: string[] = [];
  const get: TokenSource['get'] = async (...args) => {
    nowMs += tokenWaitMs;
    quietTimes.begin(account.name, quietMs);
    return await tokens.get(...args);
  };
  const call = createAuthorizedCall({ tokens: { get }, quietTimes, monotonic: now });
  const send = async (token: string) => {
    sent.push(token);
    return nextOf(answers);
  };
  return { sent, tokens, called: () => call(account, toScope('order'), send) };
}

it('a call is sent once, with the token of the fleet in clear', async () => {
  const { sent, tokens, called } = callWith({});
  expect(await called()).toBe('answered');
  expect([sent, tokens.calls]).toEqual([['clear token-1'], [undefined]]);
});

it('a call whose token came in a moment is sent, and once more with another token after a 401', async () => {
  const { sent, tokens, called } = callWith({ answers: [rejected, 'answered'], tokenWaitMs: 250 });
  expect(await called()).toBe('answered');
  expect(sent).toEqual(['clear token-1', 'clear token-2']);
  expect(tokens.calls).toEqual([undefined, 'token-1']);
});

it('a call that is repeated after a 401 fails with the error of the repetition', async () => {
  const failed = apiError('UPSTREAM_FAILED');
  const { sent, called } = callWith({ answers: [rejected, failed, 'answered'] });
  await expect(called()).rejects.toBe(failed);
  expect(sent).toHaveLength(2);
});

it.each([
  ...apiErrorCodes.filter((code) => code !== 'TOKEN_REJECTED').map((code) => apiError(code)),
  new RideApiUnreachable('TOTAL_TIMEOUT', 'https://partner.example'),
  new RideApiGarbled('NOT_JSON', 'https://partner.example', 200),
  new UnusableReply('UNREADABLE_STATUS'),
  new Error('a bug of ours'),
])('a call is not repeated after any error but a 401: %s', async (error) => {
  const { sent, tokens, called } = callWith({ answers: [error, 'answered'] });
  await expect(called()).rejects.toBe(error);
  expect([sent.length, tokens.calls]).toEqual([1, [undefined]]);
});

it('a call tries a third token, and no more: the service may have ended the second one with the first', async () => {
  const twice = callWith({ answers: [rejected, rejected, 'answered'] });
  expect(await twice.called()).toBe('answered');
  expect(twice.tokens.calls).toEqual([undefined, 'token-1', 'token-2']);
  const always = callWith({ answers: [rejected] });
  await expect(always.called()).rejects.toBe(rejected);
  expect(always.sent).toHaveLength(3);
});

it.each([
  // Or all calls would be sent at once when the token comes.
  ['that waited long for its token', { tokenWaitMs: 251 }, 100],
  ['whose account got a wait while the call got its token', { quietMs: 7_000 }, 7_000],
])('a call %s goes back to Temporal and is not sent', async (_, settings, leftMs) => {
  const { sent, called } = callWith(settings);
  await expect(called()).rejects.toMatchObject({ code: 'QuietTime', leftMs });
  expect(sent).toEqual([]);
});

it('a crowd of calls waits for no token, but polls do', async () => {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const get: TokenSource['get'] = async (_account, _scope, rejected) => {
    await given;
    return { id: `after ${rejected}`, value: 'clear' };
  };
  const call = createAuthorizedCall({ tokens: { get }, quietTimes: createQuietTimes(), mostWaiting: 2 });
  const answers = [rejected, ...Array(9).fill('answered')];
  const called = (of = account, manner = {}) => call(of, toScope('order'), async () => nextOf(answers), manner);
  const back = { code: 'QuietTime', leftMs: 1_000 };
  const waiting = [called(), called(), called(account, { isPoll: true })];
  await expect(called()).rejects.toMatchObject(back);
  waiting.push(called({ ...account, name: toAccountName('other') }));
  give();
  expect(await Promise.all(waiting)).toEqual(Array(4).fill('answered'));
  expect(await Promise.all([called(), called()]), 'the places are free again').toEqual(['answered', 'answered']);
});

/** One process reads both orders with these tokens. */
function stageWith(answers: LookStage['answers'], tokens: TokenSource = tokensInOrder()) {
  const requests: unknown[][] = [];
  const stage = new LookStage(...answers);
  const { quietTimes, provenPaths } = stage;
  const rideApi = fakeRideApi({
    async readOrder(...args) {
      requests.push(args);
      return stage.answer();
    },
  });
  // The wait for a token takes no time, however busy the machine is.
  const call = createAuthorizedCall({ tokens, quietTimes, monotonic: () => 0 });
  stage.readOrder = createOrderReader({ rideApi, call, provenPaths });
  return Object.assign(stage, { requests });
}

it('the reader of orders hands the order and the signal to each request, and proves the path of look-ups', async () => {
  const stage = stageWith([rejected, readingOf('Driving')]);
  const { signal } = new AbortController();
  expect(await stage.readOrder(account, other.input.orderId, { signal })).toEqual(readingOf('Driving'));
  expect(stage.requests).toEqual([1, 2].map((id) => [account, other.input.orderId, `clear token-${id}`, signal]));
  expect(stage.provenPaths.isProven(account.name, start, aRead().input.orderId)).toBe(true);
});

it('a short wait cuts no long one, and concerns no other account', () => {
  const quietTimes = createQuietTimes(() => start);
  for (const ms of [7_000, 1_000]) quietTimes.begin(account.name, ms);
  expect(() => quietTimes.check(account.name)).toThrow(expect.objectContaining({ leftMs: 7_000 }));
  expect(() => quietTimes.check(toAccountName('other'))).not.toThrow();
});

it('polls and one-shot reads of other orders make no call until the wait after a 429 is over', async () => {
  const tokens = tokensInOrder();
  const stage = stageWith([apiError('RATE_LIMITED', 30), readingOf('Driving')], tokens);
  await stage.attempt(aRead());
  expect((await stage.attempt(other)).failure?.nextRetryDelay).toBe(30_000);
  stage.now += 10_000;
  const { failure, heartbeats } = await stage.attempt(other);
  expect(failure).toMatchObject({ type: 'UpstreamUnavailable', nextRetryDelay: 20_000 });
  expect([stage.asked, tokens.calls]).toEqual([[start], [undefined]]);
  stage.now += 20_000;
  const next = await stage.attempt(other, { attempt: 2, heartbeatDetails: heartbeats.at(-1) });
  expect(next.seen).toMatchObject({ reading: { status: 'Driving' } });
  expect(stage.asked).toEqual([start, start + 30_000]);
});

it('a refusal without Retry-After concerns only the order that got it', async () => {
  const stage = stageWith([apiError('UPSTREAM_FAILED'), readingOf('Driving')]);
  await stage.attempt(aRead());
  expect((await stage.attempt(other)).seen).toMatchObject({ kind: 'reading' });
});

describe('while the account has to wait', () => {
  const shown = { rawStatus: 'Routing', attention: 'upstreamUnavailable' } as const;
  async function quietStage(seconds: number) {
    const stage = stageWith([apiError('RATE_LIMITED', seconds), readingOf('Driving')]);
    await stage.attempt(other);
    stage.asked.length = 0;
    return stage;
  }

  it('a read after a delivery is sent when the wait is over, which is not its answer', async () => {
    const stage = await quietStage(599);
    const attempts = await stage.run(aRead(shown));
    expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading' });
    expect(stage.asked).toEqual([start + 599_000]);
  });

  const streak: FailureStreak = {
    code: 'upstreamUnavailable',
    message: 'the account waits',
    since: iso(start),
    failures: 1,
    notBefore: iso(start + 599_000),
    isLongWait: true,
  };
  it.each([
    ['long', 599, shown],
    ['short', 40, shown],
    ['long, which the run does not show yet', 599, {}],
    ['long, and the watch has just reported it', 599, { ...shown, streak }],
  ])('a read for a person is sent at once: %s', async (_, seconds, run) => {
    const stage = await quietStage(seconds);
    const { seen } = await stage.attempt(aRead({ ...run, forPerson: true }));
    expect(seen).toMatchObject({ kind: 'reading', reading: { status: 'Driving' } });
    expect(stage.asked).toEqual([start]);
  });

  it('a read for a person that the service turns away again is answered with the end of the long wait', async () => {
    const stage = stageWith([apiError('RATE_LIMITED', 599)]);
    const { seen } = await stage.attempt(aRead({ ...shown, forPerson: true }));
    const attention = { code: 'upstreamUnavailable', message: expect.stringContaining('Nothing is sent until') };
    expect(seen).toMatchObject({ kind: 'trouble', attention, notBefore: iso(start + 599_000) });
  });
});

it('a read for a person that fails is answered with the trouble at once, as brief where the run does not show it', async () => {
  const brief = { code: 'upstreamUnavailable', failures: 1 };
  for (const [run, expected] of [
    [{}, { brief }],
    [{ attention: 'upstreamUnavailable' as const }, {}],
  ] as const) {
    const stage = stageWith([apiError('UPSTREAM_FAILED')]);
    const { seen } = await stage.attempt(aRead({ ...run, forPerson: true }));
    expect(seen).toMatchObject({ kind: 'trouble', attention: { code: 'upstreamUnavailable' }, ...expected });
    expect(Object.keys(seen as object).includes('brief')).toBe('brief' in expected);
  }
});

it('a read for a person is sent at once, though its run waits after trouble', async () => {
  const stage = stageWith([readingOf('Driving')]);
  const notBefore = iso(start + 60_000);
  expect((await stage.attempt(aRead({ notBefore, forPerson: true }))).seen).toMatchObject({ kind: 'reading' });
  expect(stage.asked).toEqual([start]);
});
