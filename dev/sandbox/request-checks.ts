import type { ZodError } from 'zod';
import { type Answer, errorAnswer } from './answers.js';
import { refuseScope, refuseToken, type ServiceCall } from './endpoint.js';
import { refuseCompany } from './order/endpoints.js';
import type { SandboxState } from './sandbox-state.js';
import { mediaTypeOf } from './token/form.js';
import type { IssuedToken } from './token/tokens.js';

/** Refuses a call of the business interface without the headers that every such call carries (assumed). */
export const businessCheck =
  (state: SandboxState, scope: string) =>
  (token: IssuedToken | undefined, call: ServiceCall): Answer | undefined =>
    refuseToken('business', token) ??
    refuseScope(token, 'business', scope) ??
    refuseHeaders(call) ??
    refuseCompany(state, call.query.businessId);

/** 400 unless both headers name JSON. */
export function refuseHeaders({ headers }: ServiceCall): Answer | undefined {
  const must = 'must be application/json';
  const fields: Record<string, string> = {};
  if (mediaTypeOf(headers.accept) !== 'application/json') fields.Accept = must;
  if (mediaTypeOf(headers['content-type']) !== 'application/json') fields['Content-Type'] = must;
  return Object.keys(fields).length === 0
    ? undefined
    : errorAnswer('business', 400, 'validation_error', 'A header is missing', { fields });
}

/** The JSON of a body; undefined if it is no JSON. */
export function parsedBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** 400 with the wrong fields and the reasons, without their values. */
export function invalidBody({ issues }: ZodError): Answer {
  const fields = Object.fromEntries(issues.map(({ path, message }) => [path.join('.') || 'body', message]));
  return errorAnswer('business', 400, 'validation_error', 'The body is not valid', { fields });
}
