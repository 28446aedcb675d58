import { describe, expect, it } from 'vitest';
import { RideApiGarbled } from '../../../src/ride-api/errors.js';
import { readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, second, start } from '../temporal.js';
import { PollStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const unknown = apiError('ORDER_UNKNOWN', undefined, 'not_found');
const garbage = new RideApiGarbled('NOT_JSON', 'https://partner.example', 200);

/** One of ten orders fails from its first poll on. */
function failing(error: Error, random: number | (() => number) = 0): PollStage {
  const stage = new PollStage({ random });
  for (let id = 1; id <= 10; id += 1) stage.handOver(String(id));
  stage.service.set('1', error);
  return stage;
}

it.each([
  ['500', apiError('UPSTREAM_FAILED'), 'upstreamUnavailable', 5],
  ['404', unknown, 'orderNotFound', 2],
  ['garbage', garbage, 'unreadableStatus', 5],
  ['403', apiError('FORBIDDEN'), 'forbidden', 0],
] as const)(
  'one order alone that gets a %s is a hint with the trouble, once that has lasted',
  async (...[, error, code, patience]) => {
    const stage = failing(error);
    await pass(10 * second + patience * minute - 1);
    expect(stage.hints).toEqual([]);
    await pass(75 * second);
    const seen = { struggle: { code, since: iso(start + 10 * second) }, unchangedAt: null };
    expect(stage.hints).toMatchObject([{ orderId: '1', seen }]);
    await pass(20 * minute);
    expect(stage.hints).toHaveLength(1);
    expect(stage.polls.attention, 'the account is well').toBeNull();
  },
);

it('other orders keep their pace beside one in trouble', async () => {
  const stage = failing(apiError('UPSTREAM_FAILED'));
  await pass(5 * minute);
  const gaps = stage.times('2').map((at, index, all) => at - (all[index - 1] ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(12);
});

it('three orders in trouble keep no other order waiting', async () => {
  const stage = failing(apiError('UPSTREAM_FAILED'));
  for (const orderId of ['2', '3']) stage.service.set(orderId, apiError('UPSTREAM_FAILED'));
  await pass(5 * minute);
  const gaps = stage.times('5').map((at, index, all) => at - (all[index - 1] ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(45);
  expect(stage.times('5').at(-1)).toBeGreaterThan(270);
});

it('an order in trouble is polled with growing pauses', async () => {
  const stage = failing(apiError('UPSTREAM_FAILED'));
  await pass(5 * minute);
  expect(stage.times('1').map(Math.round)).toEqual([10, 11, 13, 17, 25, 41, 73, 133, 193, 253]);
});

it('trouble shorter than that is no hint', async () => {
  const stage = failing(unknown);
  await pass(2 * minute);
  stage.service.clear();
  await pass(10 * minute);
  expect([stage.hints, stage.shownAsks]).toEqual([[], []]);
});

describe('trouble that comes back', () => {
  it('is a hint again once it has lasted again', async () => {
    const stage = failing(unknown);
    await pass(3 * minute);
    stage.service.clear();
    await pass(2 * minute);
    stage.service.set('1', unknown);
    await pass(minute);
    expect(stage.hints).toHaveLength(1);
    await pass(3 * minute);
    expect(stage.hints).toHaveLength(2);
    const { since } = stage.hints[1]?.seen.struggle ?? {};
    expect(Date.parse(since ?? '')).toBeGreaterThanOrEqual(start + 5 * minute);
  });

  it('at once is a hint at once, if a person must repair it', async () => {
    const stage = failing(apiError('FORBIDDEN'));
    await pass(20 * second);
    stage.service.clear();
    await pass(70 * second);
    stage.service.set('1', apiError('FORBIDDEN'));
    await pass(20 * second);
    expect(stage.hints).toHaveLength(2);
  });
});

it('a change after trouble is told since the last poll that found it unchanged', async () => {
  const stage = failing(unknown);
  await pass(minute);
  stage.service.clear();
  await pass(minute);
  stage.service.set('1', unknown);
  await pass(minute);
  stage.service.set('1', readingOf('Driving'));
  const before = stage.times('1').filter((at) => at <= 120);
  await pass(minute);
  expect(stage.hints[0]?.seen).toEqual({ struggle: null, unchangedAt: iso(start + (before.at(-1) ?? 0) * second) });
});

it('a hint about trouble that Temporal does not take comes later', async () => {
  const stage = failing(unknown);
  await pass(minute);
  stage.isTemporalDown = true;
  await pass(3 * minute);
  expect(stage.hints).toEqual([]);
  stage.isTemporalDown = false;
  await pass(20 * second);
  expect(stage.hints).toMatchObject([{ seen: { struggle: { since: iso(start + 10 * second) } } }]);
});

it('an order in trouble is dropped when its run has ended', async () => {
  const stage = failing(unknown);
  Object.assign(stage.runs.get('1') ?? {}, { isOpen: false });
  await pass(3 * minute);
  expect(stage.polls.size).toBe(9);
  const polls = await stage.polledWithin(5 * minute);
  expect(polls.some(({ orderId }) => orderId === '1')).toBe(false);
});

it('several orders in trouble are no trouble of the account while others answer', async () => {
  let turns = 0;
  const spread = (): number => {
    turns += 7;
    return (turns % 10) / 10;
  };
  const stage = failing(apiError('UPSTREAM_FAILED'), spread);
  for (const orderId of ['2', '3']) stage.service.set(orderId, apiError('UPSTREAM_FAILED'));
  await pass(15 * minute);
  expect(stage.polls.attention).toBeNull();
  expect(new Set(stage.hints.map(({ orderId }) => orderId))).toEqual(new Set(['1', '2', '3']));
});
