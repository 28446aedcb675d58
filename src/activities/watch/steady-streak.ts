import { type MonotonicClock, type WallClock, wallOffsetMs } from '../../clock.js';
import type { AttentionCode } from '../../domain/attention.js';
import { type FailureStreak, judge, type ReadTrouble, streakAfter } from '../../domain/failure-streak.js';

/** Failed polls in a row, timed by the monotonic clock. */
export type SteadyStreak = ReturnType<typeof createSteadyStreak>;

interface SteadyStreakParts {
  now: WallClock;
  monotonic: MonotonicClock;
  random: () => number;
}

/**
 * See `SteadyStreak`. All instants of a streak count from the wall clock at its first failure, so a step of the wall
 * clock changes neither its patience nor its pauses.
 */
export function createSteadyStreak({ now, monotonic, random }: SteadyStreakParts) {
  let streak: FailureStreak | null = null;
  /** The wall clock minus the monotonic one, when the streak began. */
  let offsetMs = 0;

  return {
    isOn: (): boolean => streak !== null,

    /**
     * Adds a failed poll. `again`: the next poll, by the monotonic clock. `isToRaise`: the streak has become attention.
     */
    add(trouble: ReadTrouble, shown: AttentionCode | null) {
      const at = monotonic();
      if (streak === null) offsetMs = wallOffsetMs({ now, monotonic });
      streak = streakAfter(streak, trouble, { shown, now: offsetMs + at, random: random() });
      const again = Date.parse(streak.notBefore) - offsetMs;
      const isToRaise = judge(streak, shown, offsetMs + at).act === 'raise';
      return { streak, again, isToRaise };
    },

    end(): void {
      streak = null;
    },
  };
}
