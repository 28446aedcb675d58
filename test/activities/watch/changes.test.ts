import { describe, expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import { ended, type Run, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

/** An order that was polled after ten seconds, and has changed since. */
async function changed(more: { pushed?: boolean; word?: string } = {}) {
  const stage = new WatchStage();
  const { pushed = false, word = 'Driving' } = more;
  stage.handOver('1', { pushed });
  await pass((pushed ? 300 : 10) * second);
  stage.service.set('1', readingOf(word));
  return stage;
}

describe('a change that a poll finds', () => {
  it('is one question to the run and one hint, which says when the order was last unchanged', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(5 * minute);
    expect(stage.hints).toMatchObject([
      { at: start + 20_000, seen: { streak: null, unchangedAt: iso(start + 10_000) } },
    ]);
    // Once before the hint, and once after it, whether the run has read.
    expect(stage.shownAsks).toEqual(['1', '1']);
    expect(stage.runs.get('1')?.status).toBe('Driving');
  });

  it('is told once more only after a minute, however slow the run is', async () => {
    const stage = await changed();
    await pass(69 * second);
    expect(stage.hints).toHaveLength(1);
    await pass(12 * second);
    expect(stage.hints).toHaveLength(2);
    expect(stage.times('1').slice(0, 5)).toEqual([10, 20, 25, 30, 35]);
  });

  it('is told at once to a run that an operator has reset, which has forgotten the hint', async () => {
    const stage = await changed();
    await pass(12 * second);
    stage.change('1', { runId: 'after the reset' });
    await pass(6 * second);
    expect(stage.hints).toHaveLength(2);
  });

  it('is told at most 40 times in ten minutes, whatever the run shows, and then once more', async () => {
    const stage = await changed();
    for (let second5 = 0; second5 < 120; second5 += 1) {
      await pass(5 * second);
      stage.change('1', { runId: `reset ${second5}` });
    }
    expect(stage.hints.length).toBeGreaterThan(10);
    expect(stage.hints.length).toBeLessThanOrEqual(40);
    const before = stage.hints.length;
    await pass(36 * second);
    expect(stage.hints.length).toBe(before + 1);
  });

  it('is no change in another spelling', async () => {
    const stage = await changed({ word: 'ROUTING' });
    await pass(minute);
    expect([stage.hints, stage.shownAsks]).toEqual([[], []]);
  });

  it('after one that the run has read is told since that one', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(16 * second); // the poll after 25 s has found what the run shows
    stage.service.set('1', readingOf('Waiting'));
    await pass(minute);
    expect(stage.hints).toHaveLength(2);
    expect(stage.hints[1]?.seen.unchangedAt).toBe(iso(start + 25_000));
  });
});

it('a change that the run shows before a poll finds it makes the polls slow if a delivery announced it', async () => {
  const stage = await changed({ pushed: true });
  stage.readByRun('1', true);
  await pass(20 * minute);
  expect(stage.times('1')).toEqual([300, 600, 900, 1_200, 1_500]);
  expect(stage.hints).toEqual([]);
});

describe('an order that is back at its status when a poll comes', () => {
  it('is a hint if its run has read the change in between after a hint', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(12 * second);
    expect(stage.runs.get('1')?.status).toBe('Driving');
    stage.service.clear();
    await pass(10 * second);
    expect([stage.hints.length, stage.runs.get('1')?.status]).toEqual([2, 'Routing']);
  });

  it('is a hint if a delivery has told its run of the change in between', async () => {
    const stage = await changed({ pushed: true });
    stage.readAfterMs = second;
    stage.readByRun('1', true);
    stage.service.clear();
    await pass(6 * minute);
    expect([stage.hints.length, stage.runs.get('1')?.status]).toEqual([1, 'Routing']);
  });

  it('is a hint though the same was hinted at just before, if its run has moved on since', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(12 * second); // hinted after 20 s, and read
    stage.service.set('1', readingOf('Waiting'));
    stage.readByRun('1', true);
    stage.service.set('1', readingOf('Driving'));
    await pass(6 * second);
    expect([stage.hints.length, stage.runs.get('1')?.status]).toEqual([2, 'Driving']);
  });

  it('is a hint after the next list if that was the first delivery', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    stage.readByRun('1', true);
    stage.service.clear();
    await pass(minute);
    await stage.adopt();
    await pass(minute);
    expect([stage.hints.length, stage.runs.get('1')?.status]).toEqual([1, 'Routing']);
  });
});

describe('an order is polled no more', () => {
  it.each([
    ['after its end, which the run has read', { isOpen: true, readAfterMs: second }, [10, 20, 25]],
    ['after its end that a delivery announced', { isOpen: false, readAfterMs: undefined }, [10, 20]],
  ])('%s', async (_, { isOpen, readAfterMs }, polls) => {
    const stage = await changed();
    stage.service.set('1', ended());
    stage.readAfterMs = readAfterMs;
    if (!isOpen) stage.readByRun('1', true);
    await pass(10 * minute);
    expect(stage.times('1')).toEqual(polls);
    expect(stage.polls.size).toBe(0);
  });

  it.each<[string, (stage: WatchStage) => unknown]>([
    ['after its run was stopped, from the next change on', (stage) => stage.change('1')],
    ['if Temporal has forgotten its run', (stage) => stage.runs.clear()],
    ['if its run ends right before the hint', (stage) => Object.assign(stage, { endsBeforeHint: true })],
  ])('%s', async (_, happens) => {
    const stage = await changed();
    happens(stage);
    await pass(10 * minute);
    expect([stage.times('1'), stage.hints, stage.polls.size]).toEqual([[10, 20], [], 0]);
  });
});

it('a new run of an order is not dropped by a poll for the one before', async () => {
  const stage = await changed();
  stage.shownAfterMs = 4 * second;
  stage.change('1');
  await pass(12 * second); // the poll has asked for the run that is over
  stage.handOver('1', { status: 'Driving' });
  await pass(minute);
  expect(stage.polls.size).toBe(1);
});

/** An order with a quick run, until so many minutes have passed. */
async function watched(minutes: number, run: Partial<Run>, details: Record<string, unknown> | null = null) {
  const stage = new WatchStage();
  stage.readAfterMs = second;
  stage.answer = readingOf(run.status ?? 'Routing', details);
  stage.handOver('1', run);
  await pass(minutes * minute);
  return stage;
}
const hintedAt = (stage: WatchStage): number[] => stage.hints.map(({ at }) => (at - start) / minute);

describe('an order that stays in a status for too long', () => {
  it('is a hint at the right time, once', async () => {
    const stage = await watched(120, {});
    expect(stage.hints).toHaveLength(1);
    expect(hintedAt(stage)[0]).toBeGreaterThanOrEqual(30);
    expect(hintedAt(stage)[0]).toBeLessThan(30.6);
    expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
  });

  it('is asked about at its run when that does not find it stuck: a delivery led the run elsewhere and back, unseen', async () => {
    const stage = await watched(20, {});
    stage.change('1', { since: Date.now() });
    await pass(29 * minute);
    expect([stage.hints.length, stage.fullAsks]).toEqual([2, ['1']]);
    await pass(5 * minute);
    expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
    expect(stage.hints).toHaveLength(3);
  });
});

it('an order whose pick-up time is over is a hint ten minutes later, once', async () => {
  const stage = await watched(50, { status: 'Confirmed', scheduledAt: iso(start + 20 * minute) });
  expect(stage.runs.get('1')?.attention).toBe('latePickup');
  expect(stage.hints).toHaveLength(1);
  expect(hintedAt(stage)[0]).toBeGreaterThanOrEqual(30);
  expect(hintedAt(stage)[0]).toBeLessThan(30.7);
});

describe('a pick-up that the service moves', () => {
  it('is told at once, too, when the hint that it was late is a moment old', async () => {
    const stage = await watched(29, { status: 'Confirmed', scheduledAt: iso(start + 20 * minute) });
    while (stage.runs.get('1')?.attention !== 'latePickup') await pass(second);
    stage.answer = readingOf('Confirmed', { scheduledAt: iso(start + 120 * minute) });
    await pass(7 * second);
    expect(stage.runs.get('1')?.attention).toBeNull();
    expect(stage.hints).toHaveLength(2);
  });

  it('is one hint, and the run hands the order over by the new time', async () => {
    const stage = await watched(6, { status: 'Reserved', scheduledAt: iso(start + 24 * 60 * minute) });
    stage.answer = readingOf('Reserved', { scheduledAt: iso(start + 36 * minute) });
    await pass(10 * minute);
    expect(stage.hints).toHaveLength(1);
    expect(stage.hints[0]?.seen).toEqual({ streak: null, unchangedAt: iso(start + 5 * minute) });
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
