import { randomUUID } from 'node:crypto';

/** An answer of the sandbox, before a fault changes how it is sent. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
  /** The sandbox sends these instead of the text. */
  bytes?: Buffer;
  /** The running number of the token that the call issued. */
  tokenNumber?: number;
  /** The call's order, if it is known only after the call. */
  orderId?: string;
}

export const jsonType = 'application/json; charset=utf-8';

export function jsonAnswer(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': jsonType, ...headers }, text: JSON.stringify(value) };
}

/** An error in the envelope (assumed). */
export function errorAnswer(
  status: number,
  code: string,
  message: string,
  { details = {}, headers = {} }: { details?: Record<string, string>; headers?: Record<string, string> } = {},
): Answer {
  const body = { status: 'error', error: { code, message, details }, request_id: randomUUID() };
  return jsonAnswer(status, body, headers);
}

const tokenErrorText = {
  invalid_client: 'client_id or client_secret not valid',
  invalid_scope: 'scope not accepted',
  invalid_grant: 'grant_type not accepted',
  invalid_request: 'malformed request',
} as const;

export type TokenError = keyof typeof tokenErrorText;

/** The shapes of a token error, both assumed. */
export type TokenErrorShape = 'rfc6749' | 'envelope';

/** A token error: its names are given, its HTTP status and shape assumed. */
export function tokenErrorAnswer(
  error: TokenError,
  message: string = tokenErrorText[error],
  shape: TokenErrorShape = 'rfc6749',
): Answer {
  const status = error === 'invalid_client' ? 401 : 400;
  if (shape === 'envelope') return errorAnswer(status, error, message);
  return jsonAnswer(status, { error, error_description: message }, { 'cache-control': 'no-store' });
}
