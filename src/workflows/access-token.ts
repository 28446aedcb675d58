import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  metricMeter,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { TokenActivities, TokenRequestTrouble } from '../activities/token.js';
import { tokenQueueOf } from '../domain/task-queues.js';
import { type AccessTokenInput, parseAccessTokenInput, readRenewalWish } from '../domain/token/input.js';
import {
  describeLease,
  emptyLease,
  idleMs,
  judgeWishes,
  onLeaseClock,
  type RenewalVerdict,
  type RenewalWish,
  renewalReason,
  type TokenLease,
  toTokenFailure,
  withFailure,
  withToken,
} from '../domain/token/lease.js';
import type { AccessTokenKey } from '../domain/workflow-ids.js';
import { promptRetry } from './activity-options.js';
import { renewTokenSignal, tokenStatusQuery } from './messages.js';
import { defaultMaxEvents, isHistoryLong, refuseBadInput } from './run-kit.js';
import { writeAccount, writeAttention } from './search-attributes.js';

/** Well below the 10,000 signals that the server accepts for a run. */
const defaultMaxSignals = 4_000;

/**
 * The fleet's token for one account and scope. The workflow id is the lease by which the fleet requests each token once: `renewToken` is a
 * compare-and-swap, and readers take the token from the memo. The run ends after two lifetimes without a wish. Fails with `InvalidInput`
 * (names the field).
 */
export async function accessToken(rawInput: AccessTokenInput): Promise<TokenLease> {
  const isContinued = workflowInfo().continuedFromExecutionRunId !== undefined;
  const input = refuseBadInput(() => parseAccessTokenInput(rawInput, isContinued));
  let lease = input.lease ?? emptyLease;
  const inbox: { wishes: RenewalWish[]; signals: number } = { wishes: [], signals: 0 };
  setHandler(renewTokenSignal, (request: unknown) => {
    inbox.signals += 1;
    const wish = readRenewalWish(request);
    if (wish) inbox.wishes.push(wish);
  });
  setHandler(tokenStatusQuery, () => lease);
  writeAccount(input.account);
  // Temporal's test server drops the memo of a continued run; callers would not find the token.
  if (input.lease && workflowInfo().memo?.lease === undefined) publish(lease);

  const { maxEvents = defaultMaxEvents, maxSignals = defaultMaxSignals } = input;
  const isLong = (): boolean => isHistoryLong(maxEvents) || inbox.signals >= maxSignals;
  const hasWork = (): boolean => inbox.wishes.length > 0 || isLong();
  while (await condition(hasWork, idleMs(lease))) {
    const wishes = inbox.wishes.splice(0);
    const verdict = judgeWishes(lease, wishes, Date.now());
    if (verdict.act !== 'ignore') {
      const before = lease;
      const reason = renewalReason(before, Date.now());
      lease = {
        ...(await carryOut(verdict, before, input)),
        publishedAt: new Date().toISOString(),
      };
      publish(lease);
      if (verdict.act !== 'confirm') countRenewal(input, reason, { before, after: lease });
    }
    if (inbox.wishes.length === 0 && isLong()) await continueLease(input, lease);
  }
  return lease;
}

async function carryOut(verdict: RenewalVerdict, lease: TokenLease, input: AccessTokenInput): Promise<TokenLease> {
  if (verdict.act === 'fail') return { ...lease, failure: verdict.failure };
  return verdict.act === 'request' ? await request(lease, input) : lease;
}

async function request(lease: TokenLease, { account, scope, credentialId }: AccessTokenInput): Promise<TokenLease> {
  const { requestToken } = proxyActivities<TokenActivities>({
    taskQueue: tokenQueueOf(workflowInfo().taskQueue, account), // only workers with the credentials poll it
    startToCloseTimeout: 25_000,
    // Any answer of the service ends the activity, so that the fleet learns of it at once. Temporal repeats it only if no worker holds
    // these credentials or a worker died.
    scheduleToCloseTimeout: 60_000,
    retry: promptRetry,
    summary: `Request a token: ${scope === '' ? 'unscoped' : scope}`,
  });
  try {
    const token = await requestToken({ account, scope, credentialId });
    return withToken(lease, onLeaseClock(token, Date.now()), Date.now());
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return withFailure(lease, toTokenFailure(toTrouble(error), lease, Date.now()));
  }
}

function toTrouble({ cause }: ActivityFailure): TokenRequestTrouble {
  const trouble = cause instanceof ApplicationFailure ? cause.details?.[0] : undefined;
  if (trouble) return trouble as TokenRequestTrouble;
  const message = 'No worker could finish the token request. Check that a worker with these credentials runs.';
  return { code: 'upstreamUnavailable', message, retryAfterMs: null };
}

function publish(lease: TokenLease): void {
  upsertMemo({ lease });
  setCurrentDetails(describeLease(lease));
  writeAttention(lease.failure);
}

/** The next run gets the memo too, since callers read it at any time. */
async function continueLease(input: AccessTokenInput, lease: TokenLease): Promise<never> {
  const next = makeContinueAsNewFunc<typeof accessToken>({ memo: { lease } });
  return await next({ ...input, lease });
}

/** Counts the result of a renewal, but not during replay. */
const countRenewal = (
  { account, scope }: AccessTokenKey,
  reason: string,
  { before, after }: { before: TokenLease; after: TokenLease },
): void =>
  metricMeter
    .createCounter('faretrail_token_renewals', undefined, 'Renewals of access tokens by their reason and outcome.')
    .add(1, {
      account,
      scope: scope || 'unscoped',
      reason,
      outcome: after.renewals > before.renewals ? 'ok' : (after.failure?.code ?? 'ok'),
    });
