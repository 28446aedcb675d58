import { isJsonObject, ownValue } from './json.js';

// A body may repeat input, so only a short word is safe to keep, and free text never is.
const shortWord = /^[A-Za-z0-9_.-]{1,64}$/;

/** A short word that is safe to keep; null for anything else. */
export const toShortWord = (value: unknown): string | null =>
  typeof value === 'string' && shortWord.test(value) ? value : null;

/** Reads the code and the request id of an error body in either assumed shape (RFC 6749 section 5.2, or the envelope). */
export function parseErrorBody(body: unknown): { code: string | null; requestId: string | null } {
  const error = ownValue(body, 'error');
  return {
    code: toShortWord(isJsonObject(error) ? ownValue(error, 'code') : error),
    requestId: toShortWord(ownValue(body, 'request_id')),
  };
}

/** The message of an error body in either shape, on one line. Only the caller of the request may see it: it may repeat input,
 *  so it never enters an error text or a log. */
export function parseErrorMessage(body: unknown): string | null {
  const error = ownValue(body, 'error');
  const text = isJsonObject(error) ? ownValue(error, 'message') : ownValue(body, 'error_description');
  if (typeof text !== 'string') return null;
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line === '' ? null : line;
}

/** Is this the error envelope? An answer with a success status and this body is an error. */
export const isErrorEnvelope = (body: unknown): boolean =>
  ownValue(body, 'status') === 'error' && isJsonObject(ownValue(body, 'error'));
