import { FaretrailError } from '../domain/errors.js';
import type { OrderId } from '../domain/keys.js';
import { isJsonObject, ownValue } from './json.js';

/** Why a success answer cannot be used. */
export type UnusableReplyCode =
  /** It has no order status. The worker reads the order again at the usual pace and changes nothing. */
  | 'UNREADABLE_STATUS'
  /** It names another order than the requested one, so the worker does not apply it. */
  | 'ORDER_MISMATCH'
  /** A create succeeded without an order id: the service has made an order that the worker cannot name. */
  | 'NO_ORDER_ID'
  /** The token endpoint answered without a token. The worker repeats the request as after a server failure. */
  | 'NO_TOKEN'
  /** `token_type` is not bearer. */
  | 'WRONG_TOKEN_TYPE'
  /** The granted scope lacks a requested value. */
  | 'SCOPE_NOT_GRANTED';

/** A success answer whose JSON lacks a required value. Holds no part of the body.
 *  Not for a body that is not JSON (`RideApiGarbled`) or a refusal (`RideApiError`). */
export class UnusableReply extends FaretrailError<UnusableReplyCode> {
  override readonly name = 'UnusableReply';

  /** An order that the answer names where no success would name it. */
  readonly namedOrderId: OrderId | undefined;

  constructor(code: UnusableReplyCode, namedOrderId?: OrderId) {
    super(code, `upstream's answer cannot be used: ${code}`);
    this.namedOrderId = namedOrderId;
  }
}

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
