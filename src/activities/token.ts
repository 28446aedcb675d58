import { randomUUID } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import { iso } from '../domain/instant.js';
import type { AccountName } from '../domain/keys.js';
import { type RequestedToken, renewAheadMs, type TokenFailure } from '../domain/token/lease.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable, TokenRefused } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { toFailureType } from './looking.js';

/** Why a token request failed: the details of the failure, for the `accessToken` workflow. */
export interface TokenRequestTrouble {
  code: TokenFailure['code'];
  message: string;
  retryAfterMs: number | null;
}

export interface TokenActivityPorts {
  /** The account, if this process holds exactly these credentials of it. */
  accountWith(name: AccountName, credentialId: string): Account | undefined;
  rideApi: RideApi;
  /** Seals for readers of this lease only. */
  seal(accessToken: string, leaseId: string): Promise<string>;
  refreshEarlyMs: number;
  now?: () => number;
}

export type TokenActivities = ReturnType<typeof createTokenActivities>;

/** The activity behind the `accessToken` workflow. */
export function createTokenActivities({
  accountWith,
  rideApi,
  seal,
  refreshEarlyMs,
  now = Date.now,
}: TokenActivityPorts) {
  return {
    /** One token request. The token leaves this function sealed. */
    async requestToken(key: AccessTokenKey): Promise<RequestedToken> {
      const account = accountWith(key.account, key.credentialId);
      if (!account) throw notHeld(key);
      const obtained = await rideApi.requestToken(account, key.scope, cancellationSignal()).catch(toFailure);
      const { accessToken, lifetimeMs, requestedAt, grantedScope } = obtained;
      const expiresAt = requestedAt + lifetimeMs;
      return {
        id: randomUUID(),
        sealed: await seal(accessToken, accessTokenId(key)),
        requestedAt: iso(requestedAt),
        renewAt: iso(expiresAt - renewAheadMs(lifetimeMs, refreshEarlyMs)),
        expiresAt: iso(expiresAt),
        grantedScope,
        ageMs: Math.max(0, now() - requestedAt),
      };
    },
  };
}

/** While credentials change, workers with old and new ones share a queue: another worker will take the task. */
const notHeld = ({ account }: AccessTokenKey): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'CredentialsNotHeld',
    message: `This worker does not hold these credentials of account ${account}; another worker is asked.`,
  });

/** Any answer of the service ends the activity: the workflow publishes it to the fleet and decides when to try again. */
function toFailure(error: unknown): never {
  const trouble = toTrouble(error);
  if (!trouble) throw error;
  const type = toFailureType(trouble.code);
  throw ApplicationFailure.create({ type, message: trouble.message, nonRetryable: true, details: [trouble] });
}

function toTrouble(error: unknown): TokenRequestTrouble | undefined {
  if (error instanceof TokenRefused) return { code: error.code, message: error.message, retryAfterMs: null };
  if (error instanceof RideApiError) {
    const { message, retryAfterMs = null } = error;
    return { code: 'upstreamUnavailable', message, retryAfterMs };
  }
  if (error instanceof RideApiUnreachable || error instanceof RideApiGarbled || error instanceof UnusableReply) {
    return { code: 'upstreamUnavailable', message: error.message, retryAfterMs: null };
  }
  return undefined;
}
