import { describe, expect, it } from 'vitest';
import { createQuietTimes } from '../../../src/activities/authorized-call.js';
import { TokenUnavailable } from '../../../src/activities/token.js';
import { RideApiGarbled, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, second, start } from '../temporal.js';
import { account } from './runs.js';
import { ids, mostWithin, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const failed = apiError('UPSTREAM_FAILED');
const unknown = apiError('ORDER_UNKNOWN', undefined, 'not_found');
const garbage = new RideApiGarbled('NOT_JSON', 'https://partner.example', 200);
const down = new RideApiUnreachable('NO_CONNECTION', 'https://partner.example');

const gapsIn = (times: readonly number[]): number[] => times.slice(1).map((at, index) => at - (times[index] ?? at));

describe('trouble of one order', () => {
  /** These of ten orders fail from their first poll on. */
  function failing(error: Error, orderIds = ['1'], random: number | (() => number) = 0): WatchStage {
    const stage = new WatchStage({ random });
    stage.handOver(ids(11).slice(1));
    for (const orderId of orderIds) stage.service.set(orderId, error);
    return stage;
  }

  it.each([
    ['500', failed, 'upstreamUnavailable', 5, 60],
    ['404', unknown, 'orderNotFound', 2, 15],
    ['garbage', garbage, 'unreadableStatus', 5, 60],
    ['403', apiError('FORBIDDEN'), 'forbidden', 0, 60],
  ] as const)('alone that is a %s is told, once, when it has lasted', async (...[, error, code, patience, pause]) => {
    const stage = failing(error);
    stage.readAfterMs = second;
    await pass(10 * second + patience * minute - 1);
    expect(stage.findings).toEqual([]);
    await pass(75 * second);
    const attention = { code, message: expect.any(String), since: iso(start + 10 * second) };
    const notBefore = iso((stage.findings[0]?.at ?? 0) + pause * second);
    expect(stage.findings).toMatchObject([
      { orderId: '1', found: { kind: 'trouble', attention, notBefore, reads: 0 } },
    ]);
    expect(stage.runs.get('1')?.attention).toBe(code);
    await pass(20 * minute);
    expect([stage.findings.length, stage.hints]).toEqual([1, []]);
    expect(stage.polls.attention, 'the account is well').toBeNull();
  });

  it('makes the polls of that order rare, and of no other one', async () => {
    const stage = failing(failed);
    await pass(5 * minute);
    expect(stage.times('1').map(Math.round)).toEqual([10, 11, 13, 17, 25, 41, 73, 133, 193, 253]);
    expect(Math.max(...gapsIn([0, ...stage.times('2')]))).toBeLessThan(12);
  });

  it('and of two more keeps no other order waiting, and is none of the account', async () => {
    const stage = failing(failed, ['1', '2', '3']);
    await pass(5 * minute);
    expect(Math.max(...gapsIn([0, ...stage.times('5')]))).toBeLessThan(45);
    expect(stage.times('5').at(-1)).toBeGreaterThan(270);
    expect(stage.polls.attention, 'the account is well').toBeNull();
  });

  it('is told as a hint, once, to a run of release 0.2.0', async () => {
    const stage = failing(unknown);
    stage.change('1', { isPending: false });
    await pass(10 * minute);
    const seen = { streak: { code: 'orderNotFound', since: iso(start + 10 * second) }, unchangedAt: null };
    expect([stage.hints, stage.findings]).toMatchObject([[{ orderId: '1', seen }], []]);
  });

  it('is told once by two processes', async () => {
    const stage = failing(unknown);
    stage.beforeFinding = () => stage.change('1', { attention: 'orderNotFound', isPending: false });
    await pass(10 * minute);
    expect([stage.findings, stage.hints]).toEqual([[], []]);
  });

  it('that passes before it has lasted counts from anew when it comes back', async () => {
    const stage = failing(unknown);
    await pass(100 * second);
    stage.service.clear();
    await pass(minute);
    stage.service.set('1', unknown);
    await pass(110 * second);
    expect(stage.findings).toEqual([]);
    await pass(40 * second);
    expect(stage.findings).toHaveLength(1);
  });

  it('is over with the next reading, of which the run is told, once', async () => {
    const stage = failing(unknown);
    stage.readAfterMs = second;
    await pass(4 * minute);
    expect(stage.runs.get('1')?.attention).toBe('orderNotFound');
    stage.service.clear();
    await pass(10 * minute);
    const reading = { ...readingOf('Routing'), concern: null };
    expect(stage.findings.slice(1)).toMatchObject([{ orderId: '1', found: { kind: 'reading', reading } }]);
    expect([stage.runs.get('1')?.attention, stage.hints]).toEqual([null, []]);
  });

  it('is not polled before the instant that the run was told, though the run hands the order over at once', async () => {
    const stage = failing(apiError('FORBIDDEN'));
    stage.readAfterMs = second;
    await pass(69 * second);
    expect(stage.findings).toMatchObject([{ at: start + 10 * second, found: { notBefore: iso(start + 70 * second) } }]);
    expect(stage.times('1')).toEqual([10]);
  });

  it('of which Temporal takes nothing is told later', async () => {
    const stage = failing(unknown);
    await pass(minute);
    stage.isTemporalDown = true;
    await pass(3 * minute);
    expect(stage.findings).toEqual([]);
    stage.isTemporalDown = false;
    await pass(20 * second);
    expect(stage.findings).toMatchObject([{ found: { attention: { since: iso(start + 10 * second) } } }]);
  });

  it('ends with its run', async () => {
    const stage = failing(unknown);
    stage.change('1');
    await pass(3 * minute);
    expect(stage.polls.size).toBe(9);
    const polls = await stage.polledWithin(5 * minute);
    expect(polls.some(({ orderId }) => orderId === '1')).toBe(false);
  });

  it('that comes back is told again once it has lasted again', async () => {
    const stage = failing(unknown);
    stage.readAfterMs = second;
    const kinds = (): string[] => stage.findings.map(({ found }) => found.kind);
    await pass(3 * minute);
    stage.service.clear();
    await pass(2 * minute);
    stage.service.set('1', unknown);
    await pass(minute);
    expect(kinds()).toEqual(['trouble', 'reading']);
    await pass(3 * minute);
    expect(kinds()).toEqual(['trouble', 'reading', 'trouble']);
    const { found } = stage.findings[2] ?? {};
    expect(found?.kind === 'trouble' && Date.parse(found.attention.since)).toBeGreaterThanOrEqual(start + 5 * minute);
  });
});

/** So many orders, and their first polls; then the service says this. */
async function after(
  answer: WatchStage['answer'],
  many = 1_000,
  settings: ConstructorParameters<typeof WatchStage>[0] = {},
) {
  const stage = new WatchStage(settings);
  stage.handOver(ids(many));
  await pass(2 * minute);
  expect(stage.polls.attention).toBeNull();
  stage.answer = answer;
  stage.asked = [];
  return stage;
}

describe('an outage of the service', () => {
  it('is one attention after five minutes, of which no run is told', async () => {
    const stage = await after(down);
    await pass(5 * minute - 10 * second);
    expect(stage.polls.attention).toBeNull();
    await pass(minute);
    const attention = stage.polls.attention;
    expect(attention).toMatchObject({ code: 'upstreamUnavailable', since: expect.stringMatching(/T10:02:0/) });
    expect(attention?.message).toContain('NO_CONNECTION');
    await pass(30 * minute);
    expect(stage.polls.attention).toMatchObject({ since: attention?.since });
    expect([stage.findings, stage.hints, stage.shownAsks]).toEqual([[], [], []]);
  });

  it('is asked about by one request at a time, about another order each, with pauses that grow to fifty seconds', async () => {
    const stage = await after(down);
    stage.answerMs = 3 * second;
    await pass(minute);
    stage.mostInFlight = 0;
    await pass(10 * minute);
    expect(stage.mostInFlight).toBe(1);
    const last = stage.asked.slice(-9);
    for (const gap of gapsIn(last.map(({ at }) => at))) expect(gap / second).toBeCloseTo(53, 0);
    expect(new Set(last.map(({ orderId }) => orderId)).size).toBe(9);
    const early = stage.asked.filter(({ at }) => at < start + 3 * minute + 30 * second);
    expect(early.length).toBeLessThan(60); // the polls under way when it began, and a few more
  });

  it('is over for all orders within a minute of the repair, within the budget', async () => {
    const stage = await after(down);
    await pass(17 * minute);
    stage.answer = readingOf('Routing');
    const repairedAt = Date.now();
    const polls = await stage.polledWithin(3 * minute);
    expect((polls[1]?.at ?? Number.POSITIVE_INFINITY) - repairedAt).toBeLessThan(minute);
    expect(stage.polls.attention).toBeNull();
    const at = polls.map((poll) => poll.at);
    expect(mostWithin(10 * second, at)).toBeLessThanOrEqual(0.92 * account.requestsPerSecond * 10);
    expect(new Set(polls.map(({ orderId }) => orderId)).size).toBe(1_000);
  });

  it('that began before this worker took the watch is told even if it was told before', async () => {
    const stage = new WatchStage();
    stage.answer = down;
    stage.handOver(ids(10));
    await pass(minute);
    expect(stage.polls.attention).toBeUndefined();
    await pass(6 * minute);
    expect(stage.polls.attention).toMatchObject({ code: 'upstreamUnavailable' });
  });

  it.each([1, 2])('is shown by an account with %i order(s), too', async (many) => {
    const stage = await after(down, many);
    await pass(7 * minute);
    expect(stage.polls.attention).toMatchObject({ code: 'upstreamUnavailable' });
    expect([stage.findings, stage.hints]).toEqual([[], []]);
  });
});

describe('a wait that the service asks for', () => {
  it('is kept by all polls, and is no attention if it is short', async () => {
    const stage = await after(apiError('RATE_LIMITED', 40));
    expect(await stage.polledWithin(39 * second)).toHaveLength(1);
    stage.answer = readingOf('Routing');
    expect((await stage.polledWithin(3 * second)).length).toBeGreaterThan(10);
    expect(stage.polls.attention).toBeNull();
  });

  it('is shown at once if it is long, with its end', async () => {
    const stage = await after(apiError('RATE_LIMITED', 599));
    await pass(second);
    const message = expect.stringContaining('Nothing is sent until 2031-05-01 10:1');
    expect(stage.polls.attention).toMatchObject({ code: 'upstreamUnavailable', message });
    expect(await stage.polledWithin(9 * minute)).toEqual([]);
  });

  it('is kept where another call of this process has met it: nothing is sent, and nothing shown', async () => {
    const stage = await after(readingOf('Routing'), 10);
    const quiet = createQuietTimes(Date.now);
    quiet.begin(account.name, 50 * second);
    stage.refuse = () => quiet.check(account.name);
    expect((await stage.polledWithin(45 * second)).length, 'each tries once at most').toBeLessThanOrEqual(10);
    await pass(20 * second);
    expect(stage.outcomes.at(-1)).toBe('unchanged');
    expect(stage.polls.attention).toBeNull();
  });
});

it('credentials that the service refuses are shown at once, on the account alone, and forgotten with the first answer', async () => {
  const stage = await after(readingOf('Routing'));
  stage.refuse = () => {
    throw new TokenUnavailable('credentialsRejected', 'Check the secret.', minute);
  };
  await pass(second);
  expect(stage.polls.attention).toMatchObject({ code: 'credentialsRejected', message: 'Check the secret.' });
  expect((await stage.polledWithin(10 * minute)).length).toBeLessThanOrEqual(11);
  expect([stage.findings, stage.hints]).toEqual([[], []]);
  stage.refuse = () => undefined;
  expect((await stage.polledWithin(61 * second)).length).toBeGreaterThan(0);
  expect(stage.polls.attention).toBeNull();
});

it('trouble that comes and goes is asked about with pauses, however few orders are due', async () => {
  const stage = new WatchStage();
  stage.handOver('active');
  stage.handOver(['a', 'b', 'c'], { pushed: true });
  stage.service.set('active', apiError('RATE_LIMITED', 1));
  await pass(10_500);
  stage.service.set('active', failed); // from now on without a wish of the service
  await pass(minute);
  expect(stage.times('active').length).toBeLessThan(15);
});

it('an error that is not about the service is logged, and the order is polled again', async () => {
  const stage = new WatchStage();
  stage.handOver('1');
  stage.answer = new TypeError('a bug of ours');
  await pass(21 * second);
  expect([stage.times('1'), stage.warnings.length]).toEqual([[10, 15, 20], 3]);
  expect(stage.polls.attention).toBeUndefined();
});
