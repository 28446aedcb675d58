import { type MonotonicClock, type WallClock, wallOffsetMs } from '../../clock.js';
import type { Attention, AttentionCode, TroubleCode } from '../../domain/attention.js';
import { type FailureStreak, judge, type ReadTrouble, streakAfter } from '../../domain/failure-streak.js';
import type { OrderId } from '../../domain/keys.js';

/** Failed polls in a row, timed by the monotonic clock. */
export type SteadyStreak = ReturnType<typeof createSteadyStreak>;

interface TroubleParts {
  now: WallClock;
  monotonic: MonotonicClock;
  random: () => number;
}

/**
 * See `SteadyStreak`. All instants of a streak count from the wall clock at its first failure, so a step of the wall
 * clock changes neither its patience nor its pauses.
 */
export function createSteadyStreak({ now, monotonic, random }: TroubleParts) {
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

/** Trouble of polls that is not about one order. While it lasts, one poll at a time asks whether it is over. */
export type AccountTrouble = ReturnType<typeof createAccountTrouble>;

/** Trouble of so many orders in a row, with no answer between them, is the account's. */
const ofManyOrders = 3;
/** Polls resume within a minute of the repair. */
const longestPauseMs = 50_000;

/** An answer about one order shows that the account is well. */
const isOfOneOrder = (code: TroubleCode): boolean => code === 'orderNotFound' || code === 'unreadableStatus';

/** See `AccountTrouble`. */
export function createAccountTrouble(parts: TroubleParts) {
  const { monotonic } = parts;
  const steady = createSteadyStreak(parts);
  /** By the monotonic clock; null: polls are not paused. */
  let pausedUntil: number | null = null;
  const isPaused = (): boolean => pausedUntil !== null && monotonic() < pausedUntil;
  const orders = new Set<OrderId>();
  /** What a person is shown. Undefined: a worker that takes over does not know what the last one told. */
  let shown: Attention | null | undefined;

  function over(): void {
    if (!steady.isOn() && shown === null) return;
    steady.end();
    orders.clear();
    pausedUntil = null;
    shown = null;
  }

  return {
    over,
    shown: () => shown,
    isOn: (): boolean => pausedUntil !== null,
    pauseMs: (): number => Math.max(0, (pausedUntil ?? monotonic()) - monotonic()),

    /** Adds one failed poll. `watched`: how many orders the account has. */
    add(orderId: OrderId, trouble: ReadTrouble, watched: number): void {
      if (isOfOneOrder(trouble.code)) over();
      // A poll that was sent before the pause does not make it longer.
      if (isOfOneOrder(trouble.code) || isPaused()) return;
      const { streak, again, isToRaise } = steady.add(trouble, shown?.code ?? null);
      orders.add(orderId);
      const isSaid = trouble.isUnsent === true || trouble.afterMs !== undefined;
      if (isSaid) pausedUntil = again;
      else if (pausedUntil !== null || orders.size >= Math.min(ofManyOrders, watched))
        pausedUntil = Math.min(again, monotonic() + longestPauseMs);
      if (!isToRaise) return;
      const { code, message, since } = streak;
      shown = { code, message, since };
    },
  };
}
