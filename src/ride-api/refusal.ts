import { isErrorEnvelope, parseErrorBody, parseErrorMessage, toShortWord } from '../contracts/error-body.js';
import { RideApiError, type RideApiErrorCode, type UpstreamWords } from './errors.js';
import type { ApiReply } from './http.js';
import { decideRetry, type WaitTerms } from './retry-decision.js';

/** What turns a refusing answer into an error. */
export interface RefusalContext extends WaitTerms {
  /** Values that the request carried and no error may repeat. */
  secrets: readonly string[];
  /** What a 404 means for this call. */
  notFound: 'NOT_FOUND' | 'ORDER_UNKNOWN';
  /** Present where upstream's own message is kept for a caller: phone numbers of the request, which it must not repeat. */
  phones?: readonly string[];
}

const codeByStatus: Partial<Record<number, RideApiErrorCode>> = {
  400: 'BAD_REQUEST',
  401: 'TOKEN_REJECTED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  422: 'UNPROCESSABLE',
  429: 'RATE_LIMITED',
};

/** A 2xx that is not an error envelope in disguise. */
export const isSuccess = ({ status, body }: ApiReply): boolean =>
  status >= 200 && status < 300 && !isErrorEnvelope(body);

const shortestTellingPart = 8;

/** Is the word a secret, or does one hold a good part of the other? Shorter parts may coincide with ordinary words. */
function repeats(word: string, secret: string): boolean {
  if (word === secret) return true;
  const [shorter, longer] = word.length < secret.length ? [word, secret] : [secret, word];
  return shorter.length >= shortestTellingPart && longer.includes(shorter);
}

/** The code word and request id of an answer, unless they repeat a secret of the request. */
export function upstreamWords(reply: ApiReply, secrets: readonly string[]): UpstreamWords {
  const { code, requestId } = parseErrorBody(reply.body);
  const safe = (word: string | null): string | null =>
    word === null || secrets.some((secret) => repeats(word, secret)) ? null : word;
  return { upstreamCode: safe(code), requestId: safe(requestId ?? toShortWord(reply.headers['x-request-id'])) };
}

const maxMessageLength = 200;
const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** Upstream's own message, unless it repeats a secret or a phone number of the request, however that is written. */
function messageFor(reply: ApiReply, secrets: readonly string[], phones: readonly string[]): string | null {
  const message = parseErrorMessage(reply.body);
  if (message === null || secrets.some((secret) => repeats(message, secret))) return null;
  const digits = digitsOf(message);
  if (phones.some((phone) => digits.includes(digitsOf(phone)))) return null;
  return message.slice(0, maxMessageLength).replace(/[\uD800-\uDBFF]$/, '');
}

function codeOf(reply: ApiReply, notFound: RefusalContext['notFound']): RideApiErrorCode {
  const { status } = reply;
  if (status === 404) return notFound;
  if (status < 300) return isSuccess(reply) ? 'UNEXPECTED_STATUS' : 'ERROR_IN_SUCCESS';
  if (status < 400) return 'REDIRECTED';
  return codeByStatus[status] ?? (status < 500 ? 'REFUSED' : 'UPSTREAM_FAILED');
}

/** The error for an answer that is not the success asked for. */
export function toRideApiError(reply: ApiReply, context: RefusalContext): RideApiError {
  const { secrets, notFound, phones } = context;
  const code = codeOf(reply, notFound);
  const decision = decideRetry(reply.status, reply.headers, context);
  const upstreamMessage = phones === undefined ? null : messageFor(reply, secrets, phones);
  return new RideApiError(code, reply.status, { ...upstreamWords(reply, secrets), upstreamMessage }, decision);
}
