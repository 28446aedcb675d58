import type { AttentionCode } from './attention.js';

/** Why a look at an order failed. */
export type TroubleCode = AttentionCode;

/** One failed look. */
export interface ReadTrouble {
  code: TroubleCode;
  message: string;
  /** The wait that was asked for. Where our own back-off is longer, that is kept. */
  afterMs?: number | undefined;
  /** No request was sent, so there is nothing to back off from: the wait is exactly `afterMs`. */
  isUnsent?: boolean;
}

/** Failed looks in a row, as kept between the attempts of one activity. Instants are ISO 8601 UTC. */
export interface Struggle {
  code: TroubleCode;
  message: string;
  since: string;
  failures: number;
  notBefore: string;
  /** The wait was asked for and is a long one: a person sees it at once, with its end. */
  isLongWait?: boolean;
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
/** Limits of requests are mostly counted by the minute. A longer wait than that leaves orders unread for long enough that a
 *  person should know; a shorter one costs no event. */
const longWaitMs = minuteMs;
/** Spreads what failed together. Only upwards: a `Retry-After` is never undercut. */
const jitterShare = 0.1;

const mayPass = (code: TroubleCode): boolean => patienceMs[code] !== undefined;

function backOffMs(code: TroubleCode, failures: number, isShown: boolean): number {
  if (isShown || !mayPass(code)) return slowRetryMs;
  return Math.min(firstBackOffMs * 2 ** failures, code === 'orderNotFound' ? unknownOrderBackOffMs : slowRetryMs);
}

/** Are both the same trouble, so that a change between them does not restart its timer? An outage shows itself now as a time-out, now as a broken answer. */
const isSameStretch = (a: TroubleCode, b: TroubleCode): boolean =>
  a === b || (a !== 'orderNotFound' && b !== 'orderNotFound' && mayPass(a) && mayPass(b));

/** An instant as people read it: `2026-05-01 08:30:00 UTC`. */
export const utcText = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The struggle after one more failed look. `random` is in [0, 1). */
export function struggleAfter(
  before: Struggle | null,
  trouble: ReadTrouble,
  { shown, now, random }: { shown: AttentionCode | null; now: number; random: number },
): Struggle {
  const { code, afterMs = 0, isUnsent = false } = trouble;
  const goesOn = before !== null && isSameStretch(before.code, code);
  const failures = goesOn ? before.failures : 0;
  const ownMs = isUnsent ? 0 : backOffMs(code, failures, code === shown) * (1 + random * jitterShare);
  const notBefore = now + Math.ceil(Math.max(afterMs, ownMs));
  const isLongWait = afterMs > longWaitMs;
  return {
    code,
    message: isLongWait ? `${trouble.message} Nothing is sent until ${utcText(notBefore)}.` : trouble.message,
    since: goesOn ? before.since : new Date(now).toISOString(),
    failures: isUnsent ? failures : failures + 1,
    notBefore: new Date(notBefore).toISOString(),
    ...(isLongWait ? { isLongWait } : {}),
  };
}

/** What to do with a struggle: show it, wait, or look again. */
export type Verdict = { act: 'raise' } | { act: 'wait'; waitMs: number } | { act: 'look' };

/** Shown when its patience is over, a long wait at once; until `notBefore` nobody looks. */
export function judge(struggle: Struggle, shown: AttentionCode | null, now: number): Verdict {
  const notBefore = Date.parse(struggle.notBefore);
  // A look is worth more than patience that ran out while nobody looked.
  if (now >= notBefore) return { act: 'look' };
  const patience = struggle.isLongWait ? 0 : (patienceMs[struggle.code] ?? 0);
  const raiseAt = struggle.code === shown ? Number.POSITIVE_INFINITY : Date.parse(struggle.since) + patience;
  if (now >= raiseAt) return { act: 'raise' };
  return { act: 'wait', waitMs: (struggle.code === 'orderNotFound' ? notBefore : Math.min(notBefore, raiseAt)) - now };
}
