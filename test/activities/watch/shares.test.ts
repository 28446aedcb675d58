import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { minute } from '../temporal.js';
import { WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

describe('a process with more watches than its share', () => {
  const names = ['a', 'b', 'c'].map((name) => toAccountName(name));

  async function holding(processes: number, fairShare: number) {
    const stage = new WatchStage();
    Object.assign(stage, { processes, fairShare });
    stage.begin('1');
    const attempts = names.map((name) => stage.attempt(undefined, { name }));
    await pass(5 * minute);
    return { stage, left: attempts.filter(({ isOver }) => isOver) };
  }

  it('gives those beyond it back', async () => {
    const { stage, left } = await holding(2, 2);
    expect([stage.watching.held().length, left.length]).toEqual([2, 1]);
    expect(left[0]?.pulses.at(-1)).toMatchObject({ isLeft: true });
  });

  it.each([
    [1, 2],
    [2, 3],
  ])(
    'keeps all that no other one could have, or that are its share (%s processes, share %s)',
    async (processes, share) => {
      const { left } = await holding(processes, share);
      expect(left).toEqual([]);
    },
  );
});
