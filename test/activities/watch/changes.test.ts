import { describe, expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import type { Run } from './runs.js';
import { ended, mostWithin, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

/** An order that was polled after ten seconds, and has changed since. */
async function changed({ word = 'Driving', ...run }: Partial<Run> & { word?: string } = {}) {
  const stage = new WatchStage();
  stage.handOver('1', run);
  await pass((run.pushed ? 300 : 10) * second);
  stage.service.set('1', readingOf(word));
  return stage;
}

/** A run of release 0.2.0. */
const earlier = { isPending: false };
const statusOf = (stage: WatchStage): string | null | undefined => stage.runs.get('1')?.status;
const told = ({ findings, hints }: WatchStage): number[] => [findings.length, hints.length];

describe('a change that a poll finds', () => {
  it('is one finding, which says when the order was last unchanged, and no question to the run', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(5 * minute);
    const reading = { ...readingOf('Driving'), concern: null };
    const known = { comparedWith: 'Routing', unchangedAt: iso(start + 10_000) };
    const found = { kind: 'reading', reading, at: iso(start + 20_000), reads: 0, ...known };
    expect(stage.findings).toEqual([{ orderId: '1', at: start + 20_000, found }]);
    expect([stage.hints, stage.shownAsks, statusOf(stage)]).toEqual([[], [], 'Driving']);
    // The run has handed the order over anew after 21 s.
    expect(stage.times('1').slice(0, 4)).toEqual([10, 20, 31, 41]);
  });

  it('is told once more only after a minute, as a hint, however slow the run is', async () => {
    const stage = await changed();
    await pass(69 * second);
    expect(told(stage)).toEqual([1, 0]);
    await pass(12 * second);
    expect(told(stage)).toEqual([1, 1]);
    expect(stage.times('1').slice(0, 5)).toEqual([10, 20, 25, 30, 35]);
  });

  it('is told again to a run that has forgotten it after a reset, and hands the order over anew', async () => {
    const stage = await changed();
    await pass(12 * second);
    stage.handOver('1');
    await pass(11 * second);
    expect(stage.findings).toHaveLength(2);
  });

  it.each([
    [[], false],
    [[{ stores: true }], true],
  ] as const)('is marked by a worker that records changes in a store: %j', async (settings, isMarked) => {
    const stage = new WatchStage(...settings);
    stage.handOver('1');
    stage.answer = readingOf('Driving');
    await pass(10 * second);
    expect(stage.findings).toHaveLength(1);
    expect(stage.findings.map(({ found }) => 'stores' in found)).toEqual([isMarked]);
  });

  it('is no change in another spelling', async () => {
    const stage = await changed({ word: 'ROUTING' });
    await pass(minute);
    expect([told(stage), stage.shownAsks]).toEqual([[0, 0], []]);
  });

  it('after one that the run has recorded is told since that one', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(16 * second); // recorded after 21 s
    stage.service.set('1', readingOf('Waiting'));
    await pass(minute);
    expect(stage.findings).toHaveLength(2);
    expect(stage.findings[1]?.found).toMatchObject({ unchangedAt: iso(start + 21_000) });
  });

  it('is read by the run itself, if a delivery has led the run elsewhere since it handed the order over', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    stage.service.set('1', readingOf('Waiting'));
    stage.readByRun('1', true);
    stage.service.set('1', readingOf('Driving'));
    stage.onTold = () => stage.service.set('1', readingOf('CareReq'));
    await pass(12 * second);
    expect([told(stage), statusOf(stage)]).toEqual([[1, 0], 'CareReq']);
  });
});

describe('an order that changes at each poll', () => {
  it.each([
    ['by findings', {}],
    ['by hints, if its run is of release 0.2.0', earlier],
  ])('is told %s at most 40 times in ten minutes, and its run shows the last change in the end', async (_, run) => {
    const stage = new WatchStage();
    stage.readAfterMs = 100;
    stage.handOver('1', run);
    const words = ['Waiting', 'Routing'];
    stage.onPoll = () => {
      const next = words[stage.asked.length % 2];
      stage.answer = readingOf(next ?? '');
    };
    await pass(20 * minute);
    const instants = [...stage.findings, ...stage.hints].map(({ at }) => at);
    expect(mostWithin(10 * minute, instants)).toBeGreaterThan(10);
    expect(mostWithin(10 * minute, instants)).toBeLessThanOrEqual(40);
    stage.onPoll = () => undefined;
    stage.answer = readingOf('Driving');
    await pass(36 * second);
    expect(statusOf(stage)).toBe('Driving');
  });
});

describe('a finding that the run does not take', () => {
  it('since another process has told it leads to no hint', async () => {
    const stage = await changed();
    stage.beforeFinding = () => stage.change('1', { status: 'Driving', isPending: false });
    await pass(5 * minute);
    expect([told(stage), stage.shownAsks]).toEqual([[0, 0], ['1']]);
    expect(stage.times('1').slice(0, 4)).toEqual([10, 20, 25, 35]);
  });

  it('since it was between two pending reads is told after five seconds', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    stage.change('1', { isPending: false });
    const pend = (): unknown => stage.change('1', { isPending: true });
    stage.beforeFinding = () => void Promise.resolve().then(pend);
    await pass(16 * second);
    expect([told(stage), statusOf(stage)]).toEqual([[1, 0], 'Driving']);
    expect(stage.findings[0]?.at).toBe(start + 25_000);
  });

  it('since it is of release 0.2.0 leads to a hint, upon which it reads the order, and to no hint after that', async () => {
    const stage = await changed(earlier);
    stage.readAfterMs = second;
    await pass(5 * minute);
    expect(stage.findings).toEqual([]);
    expect(stage.hints).toMatchObject([
      { at: start + 20_000, seen: { streak: null, unchangedAt: iso(start + 10_000) } },
    ]);
    // Once before the hint, and once after it, whether the run has read.
    expect([stage.shownAsks, statusOf(stage)]).toEqual([['1', '1'], 'Driving']);
    stage.service.set('1', readingOf('Waiting'));
    await pass(minute);
    expect([told(stage), statusOf(stage)]).toEqual([[0, 2], 'Waiting']);
  });
});

it('a change that the run shows before a poll finds it makes the polls slow if a delivery announced it', async () => {
  const stage = await changed({ pushed: true });
  stage.readByRun('1', true);
  await pass(20 * minute);
  expect(stage.times('1')).toEqual([300, 600, 900, 1_200, 1_500]);
  expect(told(stage)).toEqual([0, 0]);
});

describe('an order that is back at its status when a poll comes', () => {
  it('is told if its run was told of the change in between', async () => {
    const stage = await changed();
    stage.readAfterMs = second;
    await pass(12 * second);
    expect(statusOf(stage)).toBe('Driving');
    stage.service.clear();
    await pass(12 * second);
    expect([told(stage), statusOf(stage)]).toEqual([[2, 0], 'Routing']);
  });

  it('is told though the same was told just before, if its slow run has moved on since', async () => {
    const stage = await changed();
    await pass(12 * second); // told after 20 s
    stage.service.set('1', readingOf('Waiting'));
    stage.readByRun('1', true);
    stage.service.set('1', readingOf('Driving'));
    await pass(6 * second);
    expect(told(stage)).toEqual([1, 1]);
    stage.readAfterMs = second;
    await pass(2 * second);
    expect(statusOf(stage)).toBe('Driving');
  });

  it.each([false, true])(
    'is told after the next list if a delivery has told its run of the change in between (announced: %s)',
    async (pushed) => {
      const stage = await changed({ pushed });
      stage.readAfterMs = second;
      stage.readByRun('1', true);
      stage.service.clear();
      await pass(minute);
      await stage.adopt();
      await pass(5 * minute);
      expect([told(stage), statusOf(stage)]).toEqual([[1, 0], 'Routing']);
    },
  );
});

describe('an order is polled no more', () => {
  it.each([
    ['after its end that the run was told, though it is slow', { isOpen: true, readAfterMs: undefined }, [10, 20]],
    ['after its end that the run was told', { isOpen: true, readAfterMs: second }, [10, 20]],
    ['after its end that a delivery announced', { isOpen: false, readAfterMs: undefined }, [10, 20]],
    ['after its end that an earlier run has read', { isOpen: true, readAfterMs: second, ...earlier }, [10, 20, 25]],
  ])('%s', async (_, { isOpen, readAfterMs, ...run }, polls) => {
    const stage = await changed(run);
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
    ['if its run ends right before the finding', (stage) => Object.assign(stage, { beforeFinding: stage.change })],
    [
      'if its run, of release 0.2.0, ends right before the hint',
      (stage) => Object.assign(stage, { endsBeforeHint: true }) && stage.change('1', earlier),
    ],
  ])('%s', async (_, happens) => {
    const stage = await changed();
    happens(stage);
    await pass(10 * minute);
    expect([stage.times('1'), told(stage), stage.polls.size]).toEqual([[10, 20], [0, 0], 0]);
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
