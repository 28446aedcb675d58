import { describe, expect, it } from 'vitest';
import { iso, minute, second, start } from '../temporal.js';
import { ids, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const pollsWithin = async (stage: WatchStage, ms: number): Promise<number> => (await stage.polledWithin(ms)).length;

describe('the pace of a watch', () => {
  const [slow, fast] = [41, 130];

  const pulse = { orders: 500, lateMs: 0, since: iso(start) };
  const renewed = { renewedAs: 'r', workflowExecution: { workflowId: 'w', runId: 'r' } };
  const again = { scheduledTimestampMs: start, currentAttemptScheduledTimestampMs: start + minute };

  it.each([
    ['has left it', { ...pulse, isLeft: true }, {}],
    ['gave it back, so that the run continued as new', undefined, renewed],
  ] as const)('is full at once where the process before %s', async (_, before, more) => {
    const stage = new WatchStage();
    stage.begin(ids(500));
    stage.attempt(before, more);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(fast);
  });

  it.each([
    ['in a run that no other one continued as: the one before was perhaps terminated', {}],
    ['in a run that was reset', { ...renewed, workflowExecution: { workflowId: 'w', runId: 's' } }],
    ['in an activity that was reset', { ...renewed, ...again }],
  ] as const)('is slow for as long as the process before may poll on unaware: %s', async (_, more) => {
    const stage = new WatchStage();
    stage.begin(ids(500));
    stage.attempt(undefined, more);
    for (const turn of ['at first', 'until its heartbeat of 24 s has failed'])
      expect(await pollsWithin(stage, 12.5 * second), turn).toBeLessThanOrEqual(slow * 1.25);
    await pass(2 * second);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(fast);
  });

  it('is slow for ten seconds after an attempt that timed out, since the process before slows down by itself', async () => {
    const stage = new WatchStage();
    stage.begin(ids(500));
    stage.attempt(pulse);
    expect(await pollsWithin(stage, 10 * second)).toBeLessThanOrEqual(slow);
    await pass(second);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(fast);
  });

  it('is slow while Temporal does not answer, since another process may hold it', async () => {
    const stage = new WatchStage();
    stage.begin(ids(500));
    stage.attempt();
    await pass(2 * minute);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(fast);
    stage.isTemporalDown = true;
    await pass(35 * second);
    expect(await pollsWithin(stage, 10 * second)).toBeLessThanOrEqual(slow);
    stage.isTemporalDown = false;
    await pass(10 * second);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(fast);
  });

  it('gives way to the first reads of new orders, which other processes make', async () => {
    const stage = new WatchStage();
    stage.begin(ids(1_000));
    stage.attempt();
    await pass(30 * second);
    expect(await pollsWithin(stage, 10 * second), 'nine tenths of the budget of 16').toBeGreaterThan(140);
    let isAdding = true;
    const add = (): void => {
      if (!isAdding) return;
      void stage.add(`new-${Date.now()}`);
      setTimeout(add, second / 14);
    };
    add();
    await pass(2 * second);
    expect(await pollsWithin(stage, 10 * second)).toBeLessThan(35);
    isAdding = false;
    await pass(2 * second);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(140);
  });
});
