/** Whether the same request makes sense again; `afterMs: undefined` leaves the wait to the retry policy. */
export type RetryDecision = { retry: true; afterMs: number | undefined } | { retry: false };

/** What a wish to wait is measured against. */
export interface WaitTerms {
  /** When the answer came, in epoch milliseconds. */
  now: number;
  /** A longer wish is cut to this: it must not stop an account for a day or for weeks. */
  maxWaitMs: number;
}

/** The headers of an answer that say when to ask again. */
export interface WaitHeaders {
  'retry-after'?: string | undefined;
  date?: string | undefined;
}

/** Of `maxWaitMs`, where nothing else is set: ten minutes. */
export const defaultMaxWaitMs = 600_000;

const minWaitMs = 1_000; // "Retry-After: 0" becomes a second: Temporal reads a next retry delay of 0 as "no delay given".

const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const rfc850Date = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** The three date forms that RFC 9110 section 5.6.7 has a recipient accept. NaN for anything else. */
function httpDateMs(text: string): number {
  if (imfDate.test(text) || rfc850Date.test(text)) return Date.parse(text);
  return asctimeDate.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/** The wait that a `Retry-After` header asks for (RFC 9110 section 10.2.3: seconds or a date), to the millisecond, from a
 *  second to `maxWaitMs`. A date counts from the answer's own `Date`, since our clock may be wrong. Undefined when there is no
 *  such header or it cannot be read. */
export function retryAfterMs(headers: WaitHeaders, { now, maxWaitMs }: WaitTerms): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  const answeredAt = httpDateMs(headers.date?.trim() ?? '');
  const from = Number.isNaN(answeredAt) ? now : answeredAt;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : httpDateMs(text) - from;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, minWaitMs), maxWaitMs);
}

/** May the same request succeed later by itself? By the HTTP status alone. 401 is not in here: it needs
 *  a new token, not patience. */
export const isPassing = (status: number): boolean => status === 429 || status >= 500;

/** Whether to ask again after an answer, and after which wait. */
export const decideRetry = (status: number, headers: WaitHeaders, terms: WaitTerms): RetryDecision =>
  isPassing(status) ? { retry: true, afterMs: retryAfterMs(headers, terms) } : { retry: false };
