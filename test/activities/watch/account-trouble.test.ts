import { describe, expect, it } from 'vitest';
import { createQuietTimes } from '../../../src/activities/authorized-call.js';
import { TokenUnavailable } from '../../../src/activities/token.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { minute, second, start } from '../temporal.js';
import { account, mostWithin, PollStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const down = new RideApiUnreachable('NO_CONNECTION', 'https://partner.example');

/** So many orders, and their first polls; then the service says this. */
async function after(
  answer: PollStage['answer'],
  many = 1_000,
  settings: ConstructorParameters<typeof PollStage>[0] = {},
) {
  const stage = new PollStage(settings);
  for (let id = 0; id < many; id += 1) stage.handOver(String(id));
  await pass(2 * minute);
  expect(stage.polls.attention).toBeNull();
  stage.answer = answer;
  stage.asked = [];
  return stage;
}
const gaps = (stage: PollStage): number[] =>
  stage.asked.map(({ at }, index, all) => (at - (all[index - 1]?.at ?? at)) / second).slice(1);

describe('an outage of the service', () => {
  it('is one attention after five minutes, and no hint', async () => {
    const stage = await after(down);
    await pass(5 * minute - 10 * second);
    expect(stage.polls.attention).toBeNull();
    await pass(minute);
    const attention = stage.polls.attention;
    expect(attention).toMatchObject({ code: 'upstreamUnavailable', since: expect.stringMatching(/T10:02:0/) });
    expect(attention?.message).toContain('NO_CONNECTION');
    await pass(30 * minute);
    expect(stage.polls.attention).toMatchObject({ since: attention?.since });
    expect([stage.hints, stage.shownAsks]).toEqual([[], []]);
  });

  it('is asked about by one request at a time, with growing pauses of at most fifty seconds', async () => {
    const stage = await after(down);
    stage.answerMs = 3 * second;
    await pass(minute);
    stage.mostInFlight = 0;
    await pass(10 * minute);
    expect(stage.mostInFlight).toBe(1);
    const pauses = gaps(stage).slice(-8);
    for (const pause of pauses) expect(pause).toBeCloseTo(53, 0);
    const early = stage.asked.filter(({ at }) => at < start + 3 * minute + 30 * second);
    expect(early.length).toBeLessThan(60); // the polls under way when it began, and a few more
  });

  it('is asked about by another order each time', async () => {
    const stage = await after(down);
    await pass(10 * minute);
    const asked = stage.asked.slice(-8).map(({ orderId }) => orderId);
    expect(new Set(asked).size).toBe(8);
  });

  it('is over for all orders within a minute of the repair, within the budget', async () => {
    const stage = await after(down);
    await pass(17 * minute);
    stage.answer = readingOf('Routing');
    const repairedAt = Date.now();
    const polls = (await stage.polledWithin(3 * minute)).map(({ at }) => at);
    const resumedAt = polls[1] ?? Number.POSITIVE_INFINITY;
    expect(resumedAt - repairedAt).toBeLessThan(minute);
    expect(stage.polls.attention).toBeNull();
    expect(mostWithin(10 * second, polls)).toBeLessThanOrEqual(0.92 * account.requestsPerSecond * 10);
    const since = stage.asked.filter(({ at }) => at >= repairedAt);
    expect(new Set(since.map(({ orderId }) => orderId)).size).toBe(1_000);
  });

  it('is no trouble at all if it is over within five minutes', async () => {
    const stage = await after(down);
    const shown = new Set<unknown>();
    for (let half = 0; half < 8; half += 1) {
      await pass(30 * second);
      shown.add(stage.polls.attention);
    }
    stage.answer = readingOf('Routing');
    await pass(minute);
    shown.add(stage.polls.attention);
    expect([...shown]).toEqual([null]);
  });

  it('that began before this worker took the watch is told even if it was told before', async () => {
    const stage = new PollStage();
    stage.answer = down;
    for (let id = 0; id < 10; id += 1) stage.handOver(String(id));
    await pass(minute);
    expect(stage.polls.attention).toBeUndefined();
    await pass(6 * minute);
    expect(stage.polls.attention).toMatchObject({ code: 'upstreamUnavailable' });
  });

  it.each([1, 2])('is shown by an account with %i order(s), too', async (many) => {
    const stage = await after(down, many);
    await pass(7 * minute);
    expect(stage.polls.attention).toMatchObject({ code: 'upstreamUnavailable' });
    expect(stage.hints).toEqual([]);
  });
});

describe('a wait that the service asks for', () => {
  it('is kept by all polls, and is no attention if it is short', async () => {
    const stage = await after(apiError('RATE_LIMITED', 40));
    const polls = await stage.polledWithin(39 * second);
    expect(polls).toHaveLength(1);
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

  it('is cut to the longest one that this worker allows', async () => {
    const stage = await after(apiError('RATE_LIMITED', 86_000), 10, { longestWaitMs: 2 * minute });
    await pass(10 * second);
    stage.answer = readingOf('Routing');
    await pass(2 * minute);
    expect(stage.asked.length).toBeGreaterThan(3);
  });

  it('is kept where another call of this process has met it: nothing is sent, and nothing shown', async () => {
    const stage = await after(readingOf('Routing'), 10);
    const quiet = createQuietTimes();
    quiet.begin(account.name, 50 * second);
    stage.refuse = () => quiet.check(account.name);
    const sent = stage.asked.length;
    await pass(45 * second);
    expect(stage.asked.length - sent, 'each tries once at most').toBeLessThanOrEqual(10);
    await pass(20 * second);
    expect(stage.outcomes.at(-1)).toBe('unchanged');
    expect(stage.polls.attention).toBeNull();
  });
});

describe('credentials that the service refuses', () => {
  const refused = () => new TokenUnavailable('credentialsRejected', 'Check the secret.', Date.now() + minute);

  it('are shown at once, on the account alone', async () => {
    const stage = await after(readingOf('Routing'));
    stage.refuse = () => {
      throw refused();
    };
    await pass(second);
    expect(stage.polls.attention).toMatchObject({ code: 'credentialsRejected', message: 'Check the secret.' });
    const polls = await stage.polledWithin(10 * minute);
    expect(polls.length).toBeLessThanOrEqual(11);
    expect(stage.hints).toEqual([]);
  });

  it('are forgotten with the first answer', async () => {
    const stage = await after(readingOf('Routing'));
    stage.refuse = () => {
      throw refused();
    };
    await pass(5 * minute);
    stage.refuse = () => undefined;
    const from = Date.now();
    await pass(61 * second);
    expect(stage.polls.attention).toBeNull();
    expect(stage.asked.filter(({ at }) => at > from).length).toBeGreaterThan(0);
  });
});

it('trouble that comes and goes is asked about with pauses, however few orders are due', async () => {
  const stage = new PollStage();
  stage.handOver('active');
  for (const orderId of ['a', 'b', 'c']) stage.handOver(orderId, { pushed: true });
  stage.service.set('active', apiError('RATE_LIMITED', 1));
  await pass(10_500);
  stage.service.set('active', apiError('UPSTREAM_FAILED')); // from now on without a wish of the service
  await pass(minute);
  expect(stage.times('active').length).toBeLessThan(15);
});

it('one more worker learns at its first answer that the account is well', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  expect(stage.polls.attention).toBeUndefined();
  await pass(11 * second);
  expect(stage.polls.attention).toBeNull();
});

it('an error that is not about the service is logged, and the order is polled again', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  stage.answer = new TypeError('a bug of ours');
  await pass(21 * second);
  expect([stage.times('1'), stage.warnings.length]).toEqual([[10, 15, 20], 3]);
  expect(stage.polls.attention).toBeUndefined();
});
