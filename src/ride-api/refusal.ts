import { isErrorEnvelope, readErrorBody, toShortWord } from '../contracts/error-body.js';
import type { OrderId } from '../domain/keys.js';
import { RideApiError, type RideApiErrorCode, type UpstreamWords } from './errors.js';
import type { ApiReply } from './http.js';

/** What a wish to wait is measured against. */
export interface WaitTerms {
  /** When the answer came, in epoch milliseconds. */
  now: number;
  /** A longer wish is cut to this: it must not stop an account for a day or for weeks. */
  maxWaitMs: number;
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
export function retryAfterMs(
  headers: Record<string, string | undefined>,
  { now, maxWaitMs }: WaitTerms,
): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  const answeredAt = httpDateMs(headers.date?.trim() ?? '');
  const from = Number.isNaN(answeredAt) ? now : answeredAt;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : httpDateMs(text) - from;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, minWaitMs), maxWaitMs);
}

/** What turns a refusing answer into an error. */
export interface RefusalContext extends WaitTerms {
  /** What no error may repeat: values that the request carried, and words of this form. */
  secrets: readonly (string | RegExp)[];
  /** What a 404 means for this call. Default: `NOT_FOUND`. */
  notFound?: 'NOT_FOUND' | 'ORDER_UNKNOWN' | undefined;
  /** Present where upstream's own message is kept for a caller: phone numbers of the request, which it must not repeat. */
  phones?: readonly string[] | undefined;
  /** An order that an answer to a create names; only a create has it. */
  namedOrder?: ((reply: ApiReply) => OrderId | undefined) | undefined;
}

const codeByStatus: Partial<Record<number, RideApiErrorCode>> = {
  400: 'BAD_REQUEST',
  401: 'TOKEN_REJECTED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  422: 'UNPROCESSABLE',
};

/** A 2xx that is not an error envelope in disguise. */
export const isSuccess = ({ status, body }: ApiReply): boolean =>
  status >= 200 && status < 300 && !isErrorEnvelope(body);

const shortestTellingPart = 8;

/** Is the word a secret, or does one hold a good part of the other? Shorter parts may coincide with ordinary words. */
function repeats(word: string, secret: string | RegExp): boolean {
  if (secret instanceof RegExp) return secret.test(word);
  if (word === secret) return true;
  const [shorter, longer] = word.length < secret.length ? [word, secret] : [secret, word];
  return shorter.length >= shortestTellingPart && longer.includes(shorter);
}

/** The code word, the fields and the request id of an answer, unless they repeat a secret of the request. */
export function upstreamWords(reply: ApiReply, secrets: RefusalContext['secrets']): UpstreamWords {
  const { code, fields, requestId } = readErrorBody(reply.body);
  const safe = (word: string | null): string | null =>
    word === null || secrets.some((secret) => repeats(word, secret)) ? null : word;
  const upstreamFields = fields.filter((field) => safe(field) !== null);
  return {
    upstreamCode: safe(code),
    upstreamFields,
    requestId: safe(requestId ?? toShortWord(reply.headers['x-request-id'])),
  };
}

const maxMessageLength = 200;
const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** Upstream's own message, unless it repeats a secret or a phone number of the request, however that is written. */
function messageFor({ body }: ApiReply, secrets: RefusalContext['secrets'], phones: readonly string[]): string | null {
  const { message } = readErrorBody(body);
  if (message === null || secrets.some((secret) => repeats(message, secret))) return null;
  const digits = digitsOf(message);
  if (phones.some((phone) => digits.includes(digitsOf(phone)))) return null;
  return message.slice(0, maxMessageLength).replace(/[\uD800-\uDBFF]$/, '');
}

/** 429, or a 403 that asks to wait: some gateways say it so (assumed). */
export const isRateLimit = ({ status, headers }: ApiReply): boolean =>
  status === 429 || (status === 403 && retryAfterMs(headers, { now: 0, maxWaitMs: defaultMaxWaitMs }) !== undefined);

function codeOf(reply: ApiReply, notFound: RefusalContext['notFound'] = 'NOT_FOUND'): RideApiErrorCode {
  const { status } = reply;
  if (isRateLimit(reply)) return 'RATE_LIMITED';
  if (status === 404) return notFound;
  if (status < 300) return isSuccess(reply) ? 'UNEXPECTED_STATUS' : 'ERROR_IN_SUCCESS';
  if (status < 400) return 'REDIRECTED';
  return codeByStatus[status] ?? (status < 500 ? 'REFUSED' : 'UPSTREAM_FAILED');
}

/** The error for an answer that is not the success asked for. */
export function toRideApiError(reply: ApiReply, context: RefusalContext): RideApiError {
  const { secrets, notFound, phones, namedOrder } = context;
  const upstreamMessage = phones === undefined ? null : messageFor(reply, secrets, phones);
  const words = { ...upstreamWords(reply, secrets), upstreamMessage };
  const waitMs = retryAfterMs(reply.headers, context);
  return new RideApiError(codeOf(reply, notFound), reply.status, words, waitMs, namedOrder?.(reply));
}
