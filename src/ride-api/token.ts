import { FormData } from 'undici';
import type { ContractProfile } from '../contracts/contract-profile.js';
import { interfaceTerms, type TokenEncoding } from '../contracts/interface-terms.js';
import { parseTokenReply, type TokenReply } from '../contracts/token-reply.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import type { Scope } from '../domain/keys.js';
import { isPassing, type RideApiError, TokenRefused, type TokenRefusedCode } from './errors.js';
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

function encoded(
  fields: Record<string, string>,
  encoding: TokenEncoding,
): Required<Pick<ApiRequest, 'headers' | 'body'>> {
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
export function interpretTokenReply(reply: ApiReply, context: TokenAnswerContext): TokenReply {
  const words = upstreamWords(reply, [context.account.clientSecret]);
  const refusal = refusalByUpstreamCode.get(words.upstreamCode?.toLowerCase() ?? '');
  if (!isSuccess(reply) || refusal !== undefined) throw tokenError(reply, context, refusal);
  try {
    return parseTokenReply(reply.body, {
      wantedScope: context.scope,
      fallbackLifetimeMs: context.profile.tokens.fallbackLifetimeMs,
    });
  } catch (error) {
    throw toTokenRefused(error, reply) ?? error;
  }
}

function tokenError(
  reply: ApiReply,
  { account, now, maxWaitMs }: TokenAnswerContext,
  byCode: TokenRefusedCode | undefined,
): TokenRefused | RideApiError {
  const secrets = [account.clientSecret];
  const refusal = byCode ?? refusalByStatus.get(reply.status);
  if (refusal === undefined || isPassing(reply.status)) return toRideApiError(reply, { secrets, now, maxWaitMs });
  return new TokenRefused(refusal, reply.status, upstreamWords(reply, secrets));
}

/** A granted token that cannot serve the calls it was asked for is a refusal as well. */
function toTokenRefused(error: unknown, { status }: ApiReply): TokenRefused | undefined {
  const code = error instanceof UnusableReply ? error.code : undefined;
  const words = { upstreamCode: null, requestId: null };
  if (code === 'SCOPE_NOT_GRANTED') return new TokenRefused('scopeRejected', status, words, 'not among those granted');
  if (code === 'WRONG_TOKEN_TYPE') return new TokenRefused('grantRejected', status, words, 'not a bearer token');
  return undefined;
}
