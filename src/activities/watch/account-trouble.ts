import type { MonotonicClock, WallClock } from '../../clock.js';
import type { Attention, TroubleCode } from '../../domain/attention.js';
import type { ReadTrouble } from '../../domain/failure-streak.js';
import type { OrderId } from '../../domain/keys.js';
import { createSteadyStreak } from './steady-streak.js';

/** Trouble of polls that is not about one order. While it lasts, one poll at a time asks whether it is over. */
export type AccountTrouble = ReturnType<typeof createAccountTrouble>;

/** Trouble of so many orders in a row, with no answer between them, is the account's. */
const ofManyOrders = 3;
/** Polls resume within a minute of the repair. */
const longestPauseMs = 50_000;

/** An answer about one order shows that the account is well. */
const isOfOneOrder = (code: TroubleCode): boolean => code === 'orderNotFound' || code === 'unreadableStatus';

interface AccountTroubleParts {
  now: WallClock;
  monotonic: MonotonicClock;
  random: () => number;
}

/** See `AccountTrouble`. */
export function createAccountTrouble(parts: AccountTroubleParts) {
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
