import type { Attention, TroubleCode } from '../../domain/attention.js';
import { type FailureStreak, judge, type ReadTrouble, streakAfter } from '../../domain/failure-streak.js';
import type { OrderId } from '../../domain/keys.js';

/** Trouble of polls that is not about one order. While it lasts, one poll at a time asks whether it is over. */
export type AccountTrouble = ReturnType<typeof createAccountTrouble>;

/** Trouble of so many orders in a row, with no answer between them, is the account's. */
const ofManyOrders = 3;
/** Polls resume within a minute of the repair. */
const longestPauseMs = 50_000;

/** An answer about one order shows that the account is well. */
const isOfOneOrder = (code: TroubleCode): boolean => code === 'orderNotFound' || code === 'unreadableStatus';

/** See `AccountTrouble`. */
export function createAccountTrouble({ now, random }: { now: () => number; random: () => number }) {
  let streak: FailureStreak | null = null;
  let pausedUntil = 0;
  const orders = new Set<OrderId>();
  /** What a person is shown. Undefined: a worker that takes over does not know what the last one told. */
  let shown: Attention | null | undefined;

  function over(): void {
    if (streak === null && shown === null) return;
    streak = null;
    orders.clear();
    pausedUntil = 0;
    shown = null;
  }

  return {
    over,
    shown: () => shown,
    isOn: (): boolean => pausedUntil > 0,
    pauseMs: (): number => Math.max(0, pausedUntil - now()),

    /** Adds one failed poll. `watched`: how many orders the account has. */
    add(orderId: OrderId, trouble: ReadTrouble, watched: number): void {
      if (isOfOneOrder(trouble.code)) over();
      // A poll that was sent before the pause does not make it longer.
      if (isOfOneOrder(trouble.code) || now() < pausedUntil) return;
      const known = { shown: shown?.code ?? null, now: now(), random: random() };
      streak = streakAfter(streak, trouble, known);
      orders.add(orderId);
      const notBefore = Date.parse(streak.notBefore);
      const isSaid = trouble.isUnsent === true || trouble.afterMs !== undefined;
      if (isSaid) pausedUntil = notBefore;
      else if (pausedUntil > 0 || orders.size >= Math.min(ofManyOrders, watched))
        pausedUntil = Math.min(notBefore, now() + longestPauseMs);
      if (judge(streak, known.shown, now()).act !== 'raise') return;
      const { code, message, since } = streak;
      shown = { code, message, since };
    },
  };
}
