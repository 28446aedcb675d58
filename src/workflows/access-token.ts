import {
  condition,
  metricMeter,
  proxyActivities,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { TokenActivities } from '../activities/token.js';
import {
  type AccessTokenInput,
  describeLease,
  emptyLease,
  forgottenAfterMs,
  idleMs,
  isAboutCurrent,
  parseAccessTokenInput,
  refusalOf,
  renewalReason,
  type TokenLease,
  type TokenRequestTrouble,
  withToken,
  withTrouble,
} from '../domain/token-lease.js';
import { accountQueue, promptRetry } from './activity-options.js';
import { renewTokenSignal, tokenStatusQuery } from './messages.js';
import { continueRun, defaultMaxEvents, isTimeToContinue, refuseBadInput, setHandler, whenFailed } from './run-kit.js';
import { writeAccount, writeAttention } from './search-attributes.js';

/**
 * The fleet's token for one account and scope. The workflow id is the lease by which the fleet requests each token once: `renewToken` is a
 * compare-and-swap, and readers take the token from the memo. The run ends after two lifetimes in which no caller asks. Fails with
 * `InvalidInput` (names the field).
 */
export async function accessToken(rawInput: AccessTokenInput): Promise<TokenLease> {
  const input = refuseBadInput(() => parseAccessTokenInput(rawInput));
  let lease = input.lease ?? emptyLease;
  let isAsked = false;
  setHandler(renewTokenSignal, (request: unknown) => {
    isAsked ||= isAboutCurrent(lease, request);
  });
  setHandler(tokenStatusQuery, () => lease);
  writeAccount(input.account);
  // Temporal's test server drops the memo of a continued run; callers would not find the token.
  if (input.lease && workflowInfo().memo?.lease === undefined) publish(lease);

  const { maxEvents = defaultMaxEvents } = input;
  for (;;) {
    const forgetMs = forgottenAfterMs(lease, Date.now());
    const restMs = forgetMs ?? idleMs(lease);
    const isWoken = await condition(() => isAsked || isTimeToContinue(maxEvents), restMs);
    if (isAsked) {
      lease = { ...(await renew(lease, input)), publishedAt: new Date().toISOString() };
      isAsked = false; // this is the answer to all who asked meanwhile, since they could not know of it
      publish(lease);
    } else if (!isWoken) {
      if (forgetMs === null) return lease;
      lease = { ...lease, failure: null };
      publish(lease);
    }
    if (isTimeToContinue(maxEvents)) await continueLease(input, lease);
  }
}

/** The lease after a token request, or after the refusal to make one. */
async function renew(lease: TokenLease, { account, scope, credentialId }: AccessTokenInput): Promise<TokenLease> {
  const refusal = refusalOf(lease, Date.now());
  if (refusal) return { ...lease, failure: refusal };
  const { requestToken } = proxyActivities<TokenActivities>({
    taskQueue: accountQueue(account),
    priority: { priorityKey: 1 }, // calls with a lower priority wait for the token
    startToCloseTimeout: 25_000,
    // Temporal repeats it only if no worker holds these credentials or a worker died. The wait for a turn of a small budget counts, too.
    scheduleToCloseTimeout: 120_000,
    retry: promptRetry,
    summary: `Request a token: ${scope === '' ? 'unscoped' : scope}`,
  });
  const reason = renewalReason(lease, Date.now());
  const answer = await whenFailed(requestToken({ account, scope, credentialId }), () => unanswered);
  const isTrouble = 'code' in answer;
  // Not counted during replay.
  metricMeter
    .createCounter('faretrail_token_renewals', undefined, 'Renewals of access tokens by their reason and outcome.')
    .add(1, { account, scope: scope || 'unscoped', reason, outcome: isTrouble ? answer.code : 'ok' });
  return isTrouble ? withTrouble(lease, answer, Date.now()) : withToken(lease, answer, Date.now());
}

const unanswered: TokenRequestTrouble = {
  code: 'upstreamUnavailable',
  message: 'No worker could finish the token request. Check that a worker with these credentials runs.',
  retryAfterMs: null,
};

function publish(lease: TokenLease): void {
  upsertMemo({ lease });
  setCurrentDetails(describeLease(lease));
  writeAttention(lease.failure);
}

/** The next run gets the memo too, since callers read it at any time. */
const continueLease = (input: AccessTokenInput, lease: TokenLease): Promise<never> =>
  continueRun<typeof accessToken>([{ ...input, lease }], { lease });
