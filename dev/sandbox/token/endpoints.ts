import type { RideInterface } from '../../../src/domain/account.js';
import { type Answer, jsonAnswer, type TokenError, tokenErrorAnswer } from '../answers.js';
import type { Endpoint } from '../endpoint.js';
import type { SandboxState } from '../sandbox-state.js';
import { type FormEncoding, readTokenForm } from './form.js';

const formFields = ['client_id', 'client_secret', 'grant_type', 'scope'];
const businessScopes = new Set(['order', 'company.reference', 'finance', 'employee']);

/**
 * The token endpoints; that of the partner interface has path and encoding given, that of the business interface no version in its path
 * (given) and any form encoding (assumed).
 */
export const tokenEndpoints = (state: SandboxState): Endpoint[] => [
  tokenEndpoint(state, 'partner', '/v1/oauth/token', ['urlencoded']),
  tokenEndpoint(state, 'business', '/oauth/token', ['urlencoded', 'multipart']),
];

const tokenEndpoint = (
  state: SandboxState,
  at: RideInterface,
  url: string,
  accepted: readonly FormEncoding[],
): Endpoint => ({
  ...{ operation: `${at}Token`, method: 'POST', url },
  async prepare({ headers, body }) {
    const form = await readTokenForm(headers['content-type'], body, accepted);
    return { facts: formFacts(form), answer: () => answerToken(state, at, form) };
  },
});

const formFacts = (form: URLSearchParams | undefined) => ({
  clientId: form?.get('client_id') ?? undefined,
  scope: form?.get('scope') ?? (form ? '' : undefined),
});

function answerToken(state: SandboxState, at: RideInterface, form: URLSearchParams | undefined): Answer {
  const errorForm = at === 'partner' ? 'envelope' : 'rfc6749';
  if (!form)
    return tokenErrorAnswer('invalid_request', 'The fields must come as a form with its Content-Type', errorForm);
  const refused = refusal(state, at, form);
  if (refused) return tokenErrorAnswer(refused, undefined, errorForm);
  const client = state.clients[at];
  const scope = form.get('scope') ?? '';
  const { text, tokenNumber } = state.tokens.issue(
    { interface: at, clientId: client.clientId, scope },
    client.tokenLifetimeSeconds,
  );
  const body = {
    access_token: text,
    token_type: at === 'partner' ? 'Bearer' : 'bearer',
    expires_in: client.tokenLifetimeSeconds,
    scope,
  };
  return { ...jsonAnswer(200, body, { 'cache-control': 'no-store' }), tokenNumber };
}

function refusal({ clients }: SandboxState, at: RideInterface, form: URLSearchParams): TokenError | undefined {
  // RFC 6749 section 3.2: parameters must not be included more than once.
  if (formFields.some((name) => form.getAll(name).length > 1)) return 'invalid_request';
  const { clientId, clientSecret } = clients[at];
  if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) return 'invalid_client';
  if (form.get('grant_type') !== 'client_credentials') return 'invalid_grant';
  return isAcceptedScope(at, form.get('scope')) ? undefined : 'invalid_scope';
}

/** Refuses an empty `scope=`: its effect is unknown, so no client may rely on it. */
function isAcceptedScope(at: RideInterface, scope: string | null): boolean {
  if (at === 'partner') return scope === 'demand_partner';
  return scope === null || scope.split(' ').every((value) => businessScopes.has(value));
}
