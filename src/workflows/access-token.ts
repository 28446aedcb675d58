import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { TokenActivities, TokenRequestTrouble } from '../activities/token-activities.js';
import { describeLease } from '../domain/lease-details.js';
import {
  emptyLease,
  idleMs,
  isCoolingDown,
  isCurrent,
  isRejectedAfresh,
  renewalReason,
  type TokenLease,
  toTokenFailure,
  withFailure,
  withToken,
} from '../domain/token-lease.js';
import type { AccessTokenKey } from '../domain/workflow-ids.js';
import { renewTokenSignal, tokenStatusQuery } from './access-token-messages.js';
import { rideAccountKey, rideAttentionKey } from './search-attribute-keys.js';
import { countRenewal } from './token-metrics.js';

export interface AccessTokenInput extends AccessTokenKey {
  /** What the previous run of this lease knew. */
  lease?: TokenLease;
  /** The run continues as new after so many signals, which the server counts to 10,000 and never hints at. */
  maxSignals?: number;
  /** And after so many events, beside the server's own hint. */
  maxEvents?: number;
}

const defaultMaxSignals = 4_000;
const defaultMaxEvents = 4_000;

/** Renewals that callers ask for; counted, since a run takes 10,000 signals at most. */
interface Inbox {
  insteadOf: (string | null)[];
  signals: number;
}

/**
 * The fleet's token for one account and scope. The workflow id is the lease that makes the fleet ask once: each
 * `renewToken` is a compare-and-swap, and readers take the token from the memo. Ends when nobody asks for two lifetimes.
 */
export async function accessToken(input: AccessTokenInput): Promise<TokenLease> {
  let lease = input.lease ?? emptyLease;
  const inbox: Inbox = { insteadOf: [], signals: 0 };
  setHandler(renewTokenSignal, (request) => {
    inbox.signals += 1;
    inbox.insteadOf.push(request?.insteadOf ?? null);
  });
  setHandler(tokenStatusQuery, () => lease);
  upsertSearchAttributes([{ key: rideAccountKey, value: input.account }]);
  // A server may drop the memo of a continued run (Temporal's test server does); callers would look for the token in vain.
  if (input.lease && workflowInfo().memo?.lease === undefined) publish(lease);

  while (await condition(() => inbox.insteadOf.length > 0, idleMs(lease))) {
    const asked = inbox.insteadOf.splice(0);
    if (asked.some((insteadOf) => isCurrent(lease, insteadOf)) && !isCoolingDown(lease, Date.now())) {
      const reason = renewalReason(lease, Date.now());
      lease = await renew(lease, input);
      publish(lease);
      countRenewal(input, reason, lease);
    }
    if (inbox.insteadOf.length === 0 && isLong(input, inbox)) await continueLease(input, lease);
  }
  return lease;
}

async function renew(lease: TokenLease, { account, scope, credentialId }: AccessTokenInput): Promise<TokenLease> {
  if (isRejectedAfresh(lease, Date.now())) {
    const message =
      'The service rejects tokens that it has just issued. Check that base URL and token URL belong together.';
    return withFailure(
      lease,
      toTokenFailure({ code: 'credentialsRejected', message, retryAfterMs: null }, lease, Date.now()),
    );
  }
  const { requestToken } = proxyActivities<TokenActivities>({
    startToCloseTimeout: 25_000,
    // Repeated by Temporal only while no worker holds these credentials or a worker died: what the service answers,
    // good or bad, ends the activity, so that the fleet learns of it at once.
    scheduleToCloseTimeout: 60_000,
    retry: { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 5_000 },
    summary: `Request a token: ${scope === '' ? 'unscoped' : scope}`,
  });
  try {
    return withToken(lease, await requestToken({ account, scope, credentialId }), Date.now());
  } catch (error) {
    if (isCancellation(error)) throw error;
    return withFailure(lease, toTokenFailure(toTrouble(error), lease, Date.now()));
  }
}

function toTrouble(error: unknown): TokenRequestTrouble {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const trouble = cause instanceof ApplicationFailure ? cause.details?.[0] : undefined;
  if (trouble) return trouble as TokenRequestTrouble;
  const message = 'No worker could finish the token request. Check that a worker with these credentials runs.';
  return { code: 'upstreamUnavailable', message, retryAfterMs: null };
}

function publish(lease: TokenLease): void {
  upsertMemo({ lease });
  setCurrentDetails(describeLease(lease));
  const shown = workflowInfo().typedSearchAttributes.get(rideAttentionKey);
  const attention = lease.failure?.code;
  if (shown !== attention) upsertSearchAttributes([{ key: rideAttentionKey, value: attention ?? null }]);
}

function isLong(
  { maxSignals = defaultMaxSignals, maxEvents = defaultMaxEvents }: AccessTokenInput,
  inbox: Inbox,
): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents || inbox.signals >= maxSignals;
}

/** Callers go on reading the memo while one run follows the other, so it is carried along. */
async function continueLease(input: AccessTokenInput, lease: TokenLease): Promise<never> {
  const next = makeContinueAsNewFunc<typeof accessToken>({ memo: { lease } });
  return await next({ ...input, lease });
}
