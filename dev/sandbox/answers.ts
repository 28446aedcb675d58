import { randomUUID } from 'node:crypto';
import type { RideInterface } from '../../src/domain/account.js';

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

/** More about a refusal. `fields`: the fields at fault, each with the reason. */
interface RefusalParts {
  fields?: Record<string, string>;
  headers?: Record<string, string>;
}

/** A refusal in the form of its interface (published 2.3 and 2.4). `code` in lower case, as the business interface has it. */
export function errorAnswer(
  at: RideInterface,
  status: number,
  code: string,
  title: string,
  { fields, headers = {} }: RefusalParts = {},
): Answer {
  const body = at === 'partner' ? partnerError(status, code, title, fields) : businessError(code, title, fields);
  return jsonAnswer(status, body, headers);
}

/** A 401 has neither details nor a request id. */
function partnerError(status: number, code: string, message: string, details: Record<string, string> = {}): object {
  const error = { code: code.toUpperCase(), message };
  if (status === 401) return { status: 'error', error };
  return { status: 'error', error: { ...error, details }, request_id: randomUUID() };
}

const businessError = (code: string, title: string, fields: Record<string, string> = {}): object => ({
  errors: [{ code, title, field_errors: Object.entries(fields).map(([field, why]) => fieldError(field, why)) }],
});

/** One field of an error of the business interface. */
export const fieldError = (field: string, title: string, code = 'invalid_format') => ({ field, code, title });

const tokenErrorText = {
  invalid_client: 'Invalid client credentials provided',
  invalid_scope: 'scope not accepted',
  invalid_grant: 'grant_type not accepted',
  invalid_request: 'malformed request',
} as const;

export type TokenError = keyof typeof tokenErrorText;

/** The forms of a token error: that of RFC 6749, and the one of the partner interface. */
export type TokenErrorForm = 'rfc6749' | 'envelope';

/** A token error. Its names are given, the envelope is published, the rest assumed. */
export function tokenErrorAnswer(
  error: TokenError,
  message: string = tokenErrorText[error],
  form: TokenErrorForm = 'rfc6749',
): Answer {
  const status = error === 'invalid_client' ? 401 : 400;
  if (form === 'envelope')
    return jsonAnswer(status, { status: 'error', error: { code: envelopeCodes[error], message } });
  return jsonAnswer(status, { error, error_description: message }, { 'cache-control': 'no-store' });
}

/** The envelope names wrong credentials otherwise (published 2.4). */
const envelopeCodes: Record<TokenError, string> = {
  invalid_client: 'INVALID_CREDENTIALS',
  invalid_scope: 'invalid_scope',
  invalid_grant: 'invalid_grant',
  invalid_request: 'VALIDATION_ERROR',
};
