import { describe, expect, it } from 'vitest';
import { createServerPlan } from '../../cluster/fault-plan.js';

const minute = 60_000;

describe('the plan for the servers of a cluster', () => {
  it('kills one each half minute, pauses one each minute, and restarts the database once', () => {
    const { faults } = createServerPlan(1, 10 * minute, 3);
    const targetsOf = (kind: string) => faults.filter((one) => one.kind === kind).map(({ target }) => target);
    const all = ['server-1', 'server-2', 'server-3'];
    expect(targetsOf('kill')).toHaveLength(20);
    expect(targetsOf('pause')).toHaveLength(10);
    for (const kind of ['kill', 'pause']) expect([...new Set(targetsOf(kind))].sort()).toEqual(all);
    expect(targetsOf('restart')).toEqual(['postgres']);
  });

  it.each([1, 2, 3, 4, 5])('disturbs one server at a time, seed %i', (seed) => {
    const { faults } = createServerPlan(seed, 10 * minute, 3);
    const ofServers = faults.filter(({ target }) => target !== 'postgres');
    for (const [i, { atMs }] of ofServers.entries()) {
      const before = ofServers[i - 1];
      if (before) expect(atMs).toBeGreaterThan(before.atMs + before.lastsMs);
    }
  });

  it('is the same for the same seed, and names no server that there is not', () => {
    expect(createServerPlan(7, minute, 1)).toEqual(createServerPlan(7, minute, 1));
    expect(createServerPlan(8, minute, 3)).not.toEqual(createServerPlan(7, minute, 3));
    const targets = createServerPlan(7, minute, 1).faults.map(({ target }) => target);
    expect([...new Set(targets)].sort()).toEqual(['postgres', 'server-1']);
  });
});
