import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTemporalClock } from '../../src/activities/temporal-clock.js';

const [second, hour] = [1_000, 3_600_000];

/** A process and a server whose clock a test may set. A task of the server comes each second of `passes`. */
function aProcess() {
  const world = { elapsed: 5_000, serverNow: Date.parse('2031-05-01T10:00:00Z') };
  const clock = createTemporalClock(() => world.elapsed);
  return {
    world,
    clock,
    passes(ms: number, hasTasks = true): void {
      for (let left = ms; left > 0; left -= second) {
        world.elapsed += second;
        world.serverNow += second;
        if (hasTasks) clock.note(world.serverNow);
      }
    },
    errorMs: () => (clock.now() ?? Number.NaN) - world.serverNow,
  };
}

describe('the clock of the server', () => {
  it.each([
    ['an hour ahead, then mended', hour],
    ['an hour behind, then mended', -hour],
    ['a day ahead, then mended', 24 * hour],
  ])('is known again within 30 s after it was %s', (_, offMs) => {
    const { world, passes, errorMs } = aProcess();
    passes(60 * second);
    world.serverNow += offMs;
    passes(60 * second);
    expect(errorMs()).toBe(0);
    world.serverNow -= offMs;
    passes(30 * second);
    expect(errorMs()).toBe(0);
  });

  it('goes on between tasks, and is unknown once no task has told it for 20 s', () => {
    const { clock, passes, errorMs } = aProcess();
    expect(clock.now()).toBeUndefined();
    passes(second);
    passes(19 * second, false);
    expect(errorMs()).toBe(0);
    passes(2 * second, false);
    expect(clock.now()).toBeUndefined();
  });

  it('is not set back by a task that was scheduled long ago', () => {
    const { world, clock, passes, errorMs } = aProcess();
    passes(second);
    clock.note(world.serverNow - hour);
    expect(errorMs()).toBe(0);
  });

  it('is never ahead of what a task of the last 21 seconds said, whatever comes before', () => {
    const step = fc.record({ passMs: fc.nat(30_000), offMs: fc.integer({ min: -2 * hour, max: 2 * hour }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { world, clock } = aProcess();
        const notes: { at: number; lead: number }[] = [];
        for (const { passMs, offMs } of steps) {
          world.elapsed += passMs;
          world.serverNow += passMs;
          clock.note(world.serverNow + offMs);
          notes.push({ at: world.elapsed, lead: world.serverNow + offMs - world.elapsed });
          const recent = notes.filter(({ at }) => world.elapsed - at <= 21 * second);
          const leads = recent.map(({ lead }) => lead);
          expect((clock.now() ?? 0) - world.elapsed).toBeLessThanOrEqual(Math.max(...leads));
          expect((clock.now() ?? 0) - world.elapsed).toBeGreaterThanOrEqual(leads.at(-1) ?? 0);
        }
      }),
      { numRuns: 200, seed: 50 },
    );
  });
});
