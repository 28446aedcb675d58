import { describe, expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import { PollStage, type Run } from './stage.js';
import { pass, secondsOf, useOwnTime } from './time.js';

useOwnTime();

/** An order with a quick run, until so many minutes have passed. */
async function watched(minutes: number, run: Partial<Run>, details: Record<string, unknown> | null = null) {
  const stage = new PollStage();
  stage.readAfterMs = second;
  stage.answer = readingOf(run.status ?? 'Routing', details);
  stage.handOver('1', run);
  await pass(minutes * minute);
  return stage;
}
const hintedAt = (stage: PollStage): number[] => stage.hints.map(({ at }) => secondsOf(at) / 60);

describe('an order that stays in a status for too long', () => {
  it('is a hint at the right time, once', async () => {
    const stage = await watched(120, {});
    expect(stage.hints).toHaveLength(1);
    expect(hintedAt(stage)[0]).toBeGreaterThanOrEqual(30);
    expect(hintedAt(stage)[0]).toBeLessThan(30.6);
    expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
  });

  it('is found out by the slow pace of an announced order, too', async () => {
    const stage = await watched(120, { pushed: true });
    expect(stage.hints).toHaveLength(1);
    expect(hintedAt(stage)[0]).toBeLessThanOrEqual(35);
  });

  it('is asked about at its run when that does not find it stuck: a delivery led the run elsewhere and back, unseen', async () => {
    const stage = await watched(20, {});
    Object.assign(stage.runs.get('1') ?? {}, { since: Date.now() });
    await pass(29 * minute);
    expect([stage.hints.length, stage.fullAsks]).toEqual([2, ['1']]);
    await pass(5 * minute);
    expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
    expect(stage.hints).toHaveLength(3);
  });

  it('is no hint once it has changed', async () => {
    const stage = await watched(29, {});
    stage.answer = readingOf('Driving');
    await pass(90 * minute);
    expect(hintedAt(stage).map(Math.floor)).toEqual([29]);
  });
});

describe('an order whose pick-up time is over', () => {
  const confirmed = { status: 'Confirmed' };

  it('is a hint ten minutes later, once', async () => {
    const stage = await watched(50, { ...confirmed, scheduledAt: iso(start + 20 * minute) });
    expect(stage.runs.get('1')?.attention).toBe('latePickup');
    expect(stage.hints).toHaveLength(1);
    expect(hintedAt(stage)[0]).toBeGreaterThanOrEqual(30);
    expect(hintedAt(stage)[0]).toBeLessThan(30.7);
  });

  it('is the same for an order that stays reserved', async () => {
    const stage = await watched(150, { status: 'Reserved', scheduledAt: iso(start + 2 * 60 * minute) });
    expect(stage.hints).toHaveLength(1);
    expect(hintedAt(stage)[0]).toBeGreaterThanOrEqual(130);
    expect(hintedAt(stage)[0]).toBeLessThan(131);
  });

  it('is a hint again when the pick-up is moved', async () => {
    const late: Partial<Run> = { ...confirmed, scheduledAt: iso(start - 15 * minute), attention: 'latePickup' };
    const stage = await watched(1, { ...late, followedSince: start - 60 * minute });
    expect(stage.hints).toEqual([]);
    stage.answer = readingOf('Confirmed', { scheduledAt: iso(start + 40 * minute) });
    await pass(minute);
    expect(stage.hints).toHaveLength(1);
    expect(stage.runs.get('1')?.attention).toBeNull();
  });
});

describe('a pick-up that the service moves', () => {
  it('is one hint, and the run hands the order over by the new time', async () => {
    const stage = await watched(6, { status: 'Reserved', scheduledAt: iso(start + 24 * 60 * minute) });
    stage.answer = readingOf('Reserved', { scheduledAt: iso(start + 36 * minute) });
    await pass(10 * minute);
    expect(stage.hints).toHaveLength(1);
    expect(stage.hints[0]?.seen).toEqual({ struggle: null, unchangedAt: iso(start + 5 * minute) });
    const [one = 0, two] = stage.times('1').slice(-2);
    expect([one > 900, two], 'near its pick-up').toEqual([true, one + 10]);
  });

  it('is no news in another spelling, or if it cannot be read', async () => {
    const scheduledAt = iso(start + 24 * 60 * minute);
    const stage = await watched(6, { status: 'Reserved', scheduledAt });
    for (const same of ['soon', scheduledAt.replace('.000Z', '+00:00')]) {
      stage.answer = readingOf('Reserved', { scheduledAt: same });
      await pass(6 * minute);
    }
    expect(stage.hints).toEqual([]);
  });
});

it.each<[string, Partial<Run>]>([
  ['that begins', { status: 'CareReq' }],
  ['that is over', { attention: 'stuckInStatus' }],
])('a concern %s is a hint, once', async (_, run) => {
  const stage = await watched(10, run);
  expect(stage.hints).toHaveLength(1);
  expect(stage.runs.get('1')?.attention).toBe(run.status ? 'customerCare' : null);
});
