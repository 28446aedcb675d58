import { describe, expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import type { Run } from './runs.js';
import { WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

/** An order with a quick run, until so many minutes have passed. */
async function watched(minutes: number, run: Partial<Run>, details: Record<string, unknown> | null = null) {
  const stage = new WatchStage();
  stage.readAfterMs = second;
  stage.answer = readingOf(run.status ?? 'Routing', details);
  stage.handOver('1', run);
  await pass(minutes * minute);
  return stage;
}
const toldAt = (stage: WatchStage): number[] => stage.findings.map(({ at }) => (at - start) / minute);

describe('an order that stays in a status for too long', () => {
  it('is told at the right time, once, with what is wrong', async () => {
    const stage = await watched(120, {});
    expect(stage.findings).toMatchObject([{ found: { reading: { concern: { code: 'stuckInStatus' } } } }]);
    expect(toldAt(stage)[0]).toBeGreaterThanOrEqual(30);
    expect(toldAt(stage)[0]).toBeLessThan(30.6);
    expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
  });

  it.each([
    ['told', {}],
    ['a hint', { isPending: false }],
  ])(
    'is %s in vain, once, if a delivery led its run elsewhere and back, unseen, and then at the right time',
    async (_, run) => {
      const stage = await watched(20, run);
      stage.change('1', { since: Date.now() });
      await pass(29 * minute);
      expect(stage.runs.get('1')?.attention).toBeNull();
      const before = [...stage.findings, ...stage.hints].length;
      expect(before).toBeLessThanOrEqual(2);
      await pass(5 * minute);
      expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
      expect([...stage.findings, ...stage.hints]).toHaveLength(before + 1);
    },
  );
});

it('an order whose pick-up time is over is told ten minutes later, once', async () => {
  const stage = await watched(50, { status: 'Confirmed', scheduledAt: iso(start + 20 * minute) });
  expect(stage.runs.get('1')?.attention).toBe('latePickup');
  expect(stage.findings).toHaveLength(1);
  expect(toldAt(stage)[0]).toBeGreaterThanOrEqual(30);
  expect(toldAt(stage)[0]).toBeLessThan(30.7);
});

describe('a pick-up that the service moves', () => {
  it('is told at the next poll, too, when the run was told a moment ago that it was late', async () => {
    const stage = await watched(29, { status: 'Confirmed', scheduledAt: iso(start + 20 * minute) });
    for (let waited = 0; waited < 120 && stage.runs.get('1')?.attention === null; waited += 1) await pass(second);
    expect(stage.runs.get('1')?.attention).toBe('latePickup');
    stage.answer = readingOf('Confirmed', { scheduledAt: iso(start + 120 * minute) });
    await pass(33 * second); // the pace after half an hour
    expect(stage.runs.get('1')?.attention).toBeNull();
    expect(stage.findings).toHaveLength(2);
  });

  it('is one finding, and the run hands the order over by the new time', async () => {
    const stage = await watched(6, { status: 'Reserved', scheduledAt: iso(start + 24 * 60 * minute) });
    stage.answer = readingOf('Reserved', { scheduledAt: iso(start + 36 * minute) });
    await pass(10 * minute);
    expect(stage.findings).toMatchObject([{ found: { kind: 'reading', unchangedAt: iso(start + 5 * minute) } }]);
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
    expect([stage.findings, stage.hints]).toEqual([[], []]);
  });
});

it.each<[string, Partial<Run>]>([
  ['that begins', { status: 'CareReq' }],
  ['that is over', { attention: 'stuckInStatus' }],
])('a concern %s is told, once', async (_, run) => {
  const stage = await watched(10, run);
  expect(stage.findings).toHaveLength(1);
  expect(stage.runs.get('1')?.attention).toBe(run.status ? 'customerCare' : null);
});
