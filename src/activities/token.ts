import { randomUUID } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { monotonicMs } from '../clock.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import type { AccountName } from '../domain/keys.js';
import { type RequestedToken, renewAheadMs, type TokenRequestTrouble } from '../domain/token-lease.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable, TokenRefused } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';

export interface TokenActivityPorts {
  /** The account, if this process holds exactly these credentials of it. */
  accountWith(name: AccountName, credentialId: string): Account | undefined;
  rideApi: RideApi;
  /** Seals for readers of this lease only. */
  seal(accessToken: string, leaseId: string): Promise<string>;
  refreshEarlyMs: number;
  elapsed?: () => number;
}

export type TokenActivities = ReturnType<typeof createTokenActivities>;

/** The activity behind the `accessToken` workflow. */
export function createTokenActivities({
  accountWith,
  rideApi,
  seal,
  refreshEarlyMs,
  elapsed = monotonicMs,
}: TokenActivityPorts) {
  return {
    /** One token request. The token leaves this function sealed. Any answer of the service is a result, so that the workflow tells the
     *  fleet at once and decides when to try again. */
    async requestToken(key: AccessTokenKey): Promise<RequestedToken | TokenRequestTrouble> {
      const account = accountWith(key.account, key.credentialId);
      if (!account) throw notHeld(key);
      const requestedAt = elapsed();
      try {
        const { accessToken, lifetimeMs } = await rideApi.requestToken(account, key.scope, cancellationSignal());
        const sealed = await seal(accessToken, accessTokenId(key));
        const renewAfterMs = lifetimeMs - renewAheadMs(lifetimeMs, refreshEarlyMs);
        const ageMs = elapsed() - requestedAt;
        return { id: randomUUID(), sealed, ageMs, renewAfterMs, lifetimeMs };
      } catch (error) {
        return toTrouble(error);
      }
    },
  };
}

/** While credentials change, workers with old and new ones share a queue: another worker will take the task. */
const notHeld = ({ account }: AccessTokenKey): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'CredentialsNotHeld',
    message: `This worker does not hold these credentials of account ${account}; another worker is asked.`,
  });

/** What the error says of the service. Throws an error that says nothing of it. */
function toTrouble(error: unknown): TokenRequestTrouble {
  if (error instanceof TokenRefused) return { code: error.code, message: error.message, retryAfterMs: null };
  if (error instanceof RideApiError) {
    const { message, retryAfterMs = null } = error;
    return { code: 'upstreamUnavailable', message, retryAfterMs };
  }
  if (error instanceof RideApiUnreachable || error instanceof RideApiGarbled || error instanceof UnusableReply) {
    return { code: 'upstreamUnavailable', message: error.message, retryAfterMs: null };
  }
  throw error;
}
