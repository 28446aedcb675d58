/** Whether the same request makes sense again; `afterMs: undefined` leaves the wait to the retry policy. */
export type RetryDecision = { retry: true; afterMs: number | undefined } | { retry: false };

const minWaitMs = 1_000; // "Retry-After: 0" becomes a second: Temporal reads a next retry delay of 0 as "no delay given".
const maxWaitMs = 86_400_000; // A day: a longer wish, or a broken clock, must not park a call for weeks.

const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const rfc850Date = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** The three date forms that RFC 9110 section 5.6.7 has a recipient accept. NaN for anything else. */
function httpDateMs(text: string): number {
  if (imfDate.test(text) || rfc850Date.test(text)) return Date.parse(text);
  return asctimeDate.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/** The wait that a `Retry-After` header asks for (RFC 9110 section 10.2.3: seconds or a date), to the millisecond,
 *  between a second and a day. Undefined when there is none or nobody can read it. */
export function retryAfterMs(retryAfter: string | undefined, now: number): number | undefined {
  const text = retryAfter?.trim() ?? '';
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : httpDateMs(text) - now;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, minWaitMs), maxWaitMs);
}

/** Decides by the HTTP status alone (upstream section 9.1). 401 is not in here: it needs a new token, not patience. */
export function decideRetry(status: number, retryAfter: string | undefined, now: number): RetryDecision {
  if (status !== 429 && status < 500) return { retry: false };
  return { retry: true, afterMs: retryAfterMs(retryAfter, now) };
}
