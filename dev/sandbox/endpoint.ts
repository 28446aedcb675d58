import type { IncomingHttpHeaders } from 'node:http';
import type { RideInterface } from '../../src/domain/account.js';
import { type Answer, errorAnswer } from './answers.js';
import type { OperationName } from './operations.js';
import type { AccessTokens, IssuedToken } from './token/tokens.js';

export interface ServiceCall {
  headers: IncomingHttpHeaders;
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: Buffer;
}

/** What the ledger records of a call beside its request line and its answer. */
export interface CallFacts {
  orderId?: string | undefined;
  clientId?: string | undefined;
  scope?: string | undefined;
  tokenNumber?: number | undefined;
  /** The header `X-Request-ID` of a create. */
  requestId?: string | undefined;
}

/** A call before it is carried out. If a fault replaces `answer`, the call has no effect. */
export interface PreparedCall {
  facts: CallFacts;
  answer(): Answer;
}

/** One operation of the service. Paths are literal here, so that a wrong contract profile fails. */
export interface Endpoint {
  operation: OperationName;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  prepare(call: ServiceCall): PreparedCall | Promise<PreparedCall>;
}

/** An operation that takes a token. */
interface TokenOperation extends Omit<Endpoint, 'prepare'> {
  refuse(token: IssuedToken | undefined, call: ServiceCall): Answer | undefined;
  /** The answer to a call that is not refused. */
  answer(call: ServiceCall): Answer;
  facts?(call: ServiceCall): CallFacts;
}

/** Looks the token of each call up. */
export const withToken = (tokens: AccessTokens, operation: TokenOperation): Endpoint => ({
  ...operation,
  prepare(call) {
    const token = tokens.ofHeader(call.headers.authorization);
    const { orderId } = call.params;
    return {
      facts: {
        ...(token && { clientId: token.clientId, scope: token.scope, tokenNumber: token.tokenNumber }),
        ...{ orderId, ...operation.facts?.(call) },
      },
      answer: () => operation.refuse(token, call) ?? operation.answer(call),
    };
  },
});

/** 401 unless the token is live (given). The codes are published at the partner interface. */
export function refuseToken(at: RideInterface, token: IssuedToken | undefined): Answer | undefined {
  if (!token || token.revoked) return errorAnswer(at, 401, 'invalid_credentials', 'No valid bearer token');
  if (Date.now() < token.expiresAt) return undefined;
  return errorAnswer(at, 401, 'token_expired', 'The access token has expired');
}

/** 403 for a token of the other interface, or without the scope of the operation (assumed). */
export function refuseScope(token: IssuedToken | undefined, at: RideInterface, scope: string): Answer | undefined {
  if (token?.interface === at && token.scope.split(' ').includes(scope)) return undefined;
  return errorAnswer(at, 403, 'forbidden', `Needs a token of the ${at} interface with the scope ${scope}`);
}
