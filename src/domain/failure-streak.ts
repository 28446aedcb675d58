import { type AttentionCode, type TroubleCode, troubleCodes } from './attention.js';
import { PublishedInstantSchema } from './instant.js';
import * as s from './schema.js';

/** One failed look. */
export interface ReadTrouble {
  code: TroubleCode;
  message: string;
  /** The requested wait; our own back-off applies if it is longer. */
  afterMs?: number | undefined;
  /** No request was sent, so there is nothing to back off from: the wait is exactly `afterMs`. */
  isUnsent?: boolean;
}

/** Failed looks in a row, handed from attempt to attempt of one activity, and from the watch to a run. */
export const FailureStreakSchema = s.answerOf({
  code: s.wordOf(troubleCodes),
  message: s.answered(),
  since: PublishedInstantSchema,
  failures: s.wholeNumber(),
  notBefore: PublishedInstantSchema,
  // The service requested a long wait: a person sees it at once, with its end.
  isLongWait: s.absentOr(s.flag),
});
/** Failed looks in a row. Instants are ISO 8601 UTC. */
export type FailureStreak = s.Read<typeof FailureStreakSchema>;

const minuteMs = 60_000;
/** Trouble that may pass by itself is shown only after this time; trouble that a person must repair, at once. */
const patienceMs: Partial<Record<TroubleCode, number>> = {
  upstreamUnavailable: 5 * minuteMs,
  unreadableStatus: 5 * minuteMs,
  orderNotFound: 2 * minuteMs,
};
const slowRetryMs = minuteMs;
const firstBackOffMs = 1_000;
/** The service may not know a new order at once, so these looks are more frequent. */
const unknownOrderBackOffMs = 15_000;
/** Most request limits are per minute. A person should know of a longer wait, since orders stay unread; a shorter one costs no event. */
const longWaitMs = minuteMs;
/** Spreads looks that failed together. It only lengthens waits, so that it never undercuts a `Retry-After`. */
const jitterShare = 0.1;

const mayPass = (code: TroubleCode): boolean => patienceMs[code] !== undefined;

function backOffMs(code: TroubleCode, failures: number, isShown: boolean): number {
  if (isShown || !mayPass(code)) return slowRetryMs;
  return Math.min(firstBackOffMs * 2 ** failures, code === 'orderNotFound' ? unknownOrderBackOffMs : slowRetryMs);
}

/** Are both the same trouble, so that a change between them does not restart its timer? One outage may cause time-outs and broken answers. */
const isSameStretch = (a: TroubleCode, b: TroubleCode): boolean =>
  a === b || (a !== 'orderNotFound' && b !== 'orderNotFound' && mayPass(a) && mayPass(b));

/** An instant as people read it: `2026-05-01 08:30:00 UTC`. */
export const utcText = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The streak after one more failed look. `random` is in [0, 1). */
export function streakAfter(
  before: FailureStreak | null,
  trouble: ReadTrouble,
  { shown, now, random }: { shown: AttentionCode | null; now: number; random: number },
): FailureStreak {
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

/** The run shows a streak when its patience is over, and a long wait at once. There is no look before `notBefore`. */
export function judge(
  streak: FailureStreak,
  shown: AttentionCode | null,
  now: number,
): { act: 'raise' | 'look' } | { act: 'wait'; waitMs: number } {
  const notBefore = Date.parse(streak.notBefore);
  // A look tells more than patience that ran out during the wait.
  if (now >= notBefore) return { act: 'look' };
  const patience = streak.isLongWait ? 0 : (patienceMs[streak.code] ?? 0);
  const raiseAt = streak.code === shown ? Number.POSITIVE_INFINITY : Date.parse(streak.since) + patience;
  if (now >= raiseAt) return { act: 'raise' };
  return { act: 'wait', waitMs: (streak.code === 'orderNotFound' ? notBefore : Math.min(notBefore, raiseAt)) - now };
}
