import type { AttentionCode } from './attention.js';

/** Why a look at an order failed. */
export type TroubleCode = AttentionCode;

/** One failed look. `afterMs`: the wait that the service (or a cool-down) asks for. */
export interface ReadTrouble {
  code: TroubleCode;
  message: string;
  afterMs?: number | undefined;
}

/** Failed looks in a row, as kept between the attempts of one activity. Instants are ISO 8601 UTC. */
export interface Struggle {
  code: TroubleCode;
  message: string;
  since: string;
  failures: number;
  notBefore: string;
}

const minuteMs = 60_000;
/** What may pass by itself is shown only after five minutes; what a person must repair, at once. */
const patienceMs: Partial<Record<TroubleCode, number>> = {
  upstreamUnavailable: 5 * minuteMs,
  unreadableStatus: 5 * minuteMs,
  orderNotFound: 2 * minuteMs,
};
const slowRetryMs = minuteMs;
const firstBackOffMs = 1_000;
/** An order that was made a moment ago is looked for a little more often than a broken service. */
const unknownOrderBackOffMs = 15_000;
/** Spreads what failed together. Only upwards: a `Retry-After` is never undercut. */
const jitterShare = 0.1;

const mayPass = (code: TroubleCode): boolean => patienceMs[code] !== undefined;

function backOffMs(code: TroubleCode, failures: number, isShown: boolean): number {
  if (isShown || !mayPass(code)) return slowRetryMs;
  return Math.min(firstBackOffMs * 2 ** failures, code === 'orderNotFound' ? unknownOrderBackOffMs : slowRetryMs);
}

/** Do both belong to one stretch of trouble? An outage shows itself now as a time-out, now as a broken answer. */
const isSameStretch = (a: TroubleCode, b: TroubleCode): boolean =>
  a === b || (a !== 'orderNotFound' && b !== 'orderNotFound' && mayPass(a) && mayPass(b));

/** The struggle after one more failed look. `random` is in [0, 1). */
export function struggleAfter(
  before: Struggle | null,
  trouble: ReadTrouble,
  { shown, now, random }: { shown: AttentionCode | null; now: number; random: number },
): Struggle {
  const goesOn = before !== null && isSameStretch(before.code, trouble.code);
  const failures = goesOn ? before.failures : 0;
  const delayMs =
    trouble.afterMs ?? backOffMs(trouble.code, failures, trouble.code === shown) * (1 + random * jitterShare);
  return {
    code: trouble.code,
    message: trouble.message,
    since: goesOn ? before.since : new Date(now).toISOString(),
    failures: failures + 1,
    notBefore: new Date(now + Math.ceil(delayMs)).toISOString(),
  };
}

/** What to do with a struggle: show it, wait, or look again. */
export type Verdict = { act: 'raise' } | { act: 'wait'; waitMs: number } | { act: 'look' };

/** Shown when its patience is over; until `notBefore` nobody looks. */
export function judge(struggle: Struggle, shown: AttentionCode | null, now: number): Verdict {
  const notBefore = Date.parse(struggle.notBefore);
  // A look is worth more than patience that ran out while nobody looked.
  if (now >= notBefore) return { act: 'look' };
  const raiseAt =
    struggle.code === shown ? Number.POSITIVE_INFINITY : Date.parse(struggle.since) + (patienceMs[struggle.code] ?? 0);
  if (now >= raiseAt) return { act: 'raise' };
  return { act: 'wait', waitMs: (struggle.code === 'orderNotFound' ? notBefore : Math.min(notBefore, raiseAt)) - now };
}
