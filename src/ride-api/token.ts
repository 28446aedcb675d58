import { FormData } from 'undici';
import { type ContractProfile, interfaceTerms, type TokenEncoding } from '../contracts/contract-profile.js';
import { parseTokenReply, type TokenReply } from '../contracts/token-reply.js';
import type { Account } from '../domain/account.js';
import type { Scope } from '../domain/keys.js';
import { TokenRefused, type TokenRefusedCode } from './errors.js';
import type { ApiReply, ApiRequest } from './http.js';
import { isSuccess, toRideApiError, upstreamWords, type WaitTerms } from './refusal.js';

// Lower case; RFC 6749 section 5.2 and the envelope's own words.
const refusalByUpstreamCode = new Map<string, TokenRefusedCode>([
  ['invalid_client', 'credentialsRejected'],
  ['unauthorized_client', 'credentialsRejected'],
  ['invalid_credentials', 'credentialsRejected'],
  ['invalid_scope', 'scopeRejected'],
  ['invalid_grant', 'grantRejected'],
  ['unsupported_grant_type', 'grantRejected'],
  // The form of the request is fixed by the contract profile, as the grant type is: one remedy for all of these.
  ['invalid_request', 'grantRejected'],
  ['validation_error', 'grantRejected'],
]);

// Where the body says nothing. No 401 of a token endpoint ever means "renew the token".
const refusalByStatus = new Map<number, TokenRefusedCode>([
  [400, 'grantRejected'],
  [401, 'credentialsRejected'],
  [403, 'credentialsRejected'],
]);

const formHeaders = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** The client credentials request (RFC 6749 section 4.4.2) in the form of the account's interface. An empty scope is
 *  left out: that is how the unscoped token of subscriptions is asked for (given). */
export function tokenRequest(account: Account, scope: Scope, profile: ContractProfile): ApiRequest {
  const { tokenPath, tokenEncoding } = interfaceTerms[account.interface];
  const fields = {
    client_id: account.clientId,
    client_secret: account.clientSecret,
    grant_type: 'client_credentials',
    ...(scope === '' ? {} : { scope }),
  };
  return { method: 'POST', url: `${account.authUrl}${tokenPath}`, ...encoded(fields, tokenEncoding(profile)) };
}

function encoded(fields: Record<string, string>, encoding: TokenEncoding) {
  switch (encoding) {
    case 'json':
      return { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(fields) };
    case 'urlencoded':
      return { headers: formHeaders, body: new URLSearchParams(fields).toString() };
    case 'multipart': {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.append(name, value);
      return { headers: {}, body }; // undici sets the content type, which names the boundary
    }
  }
}

/** What the reader of a token answer has to know of the request. */
export interface TokenAnswerContext extends WaitTerms {
  account: Account;
  scope: Scope;
  profile: ContractProfile;
}

/** Reads the token endpoint's answer. Throws `TokenRefused` (a person must act), `RideApiError` (rate limit, failure, wrong
 *  address) or `UnusableReply` NO_TOKEN (ask again, bounded). */
export function interpretTokenReply(
  reply: ApiReply,
  { account, scope, profile, ...terms }: TokenAnswerContext,
): TokenReply {
  const { status, body } = reply;
  const secrets = [account.clientSecret];
  const words = upstreamWords(reply, secrets);
  const said = refusalByUpstreamCode.get(words.upstreamCode?.toLowerCase() ?? '');
  if (!isSuccess(reply) || said !== undefined) {
    const refusal = said ?? refusalByStatus.get(status);
    const error = toRideApiError(reply, { secrets, ...terms });
    if (refusal === undefined || error.retryable) throw error;
    throw new TokenRefused(refusal, status, words);
  }
  return parseTokenReply(body, { wantedScope: scope, fallbackLifetimeMs: profile.tokens.fallbackLifetimeMs });
}
