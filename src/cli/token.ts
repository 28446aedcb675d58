import { wallMs } from '../clock.js';
import { isUsable, publishedLease, type TokenLease } from '../domain/token-lease.js';
import { type AccessTokenKey, fromAccessTokenId } from '../domain/workflow-ids.js';
import { type RunTimes, toRunTimes } from '../temporal/runs.js';
import { listRuns } from '../temporal/visibility.js';
import { listing, type Noun } from './command.js';
import { type Columns, clip, plain, utc } from './text.js';

const limit = 200;

const help = `
States: serving; renewal due (usable, the next call renews it); expired (no call
has needed it since); failed: <why> (a call asks again after the wait); waiting
(no answer yet); ended (idle for two lifetimes, the next call starts a run). The
command never shows a token or its sealed form.`;

/** `token …` */
export const tokenCommands: Noun = {
  noun: 'token',
  does: "show the fleet's access tokens",
  verbs: [
    {
      form: 'list',
      does: 'list access tokens with state, expiry and renewals',
      more: help,
      act: (context, given) => listTokens(context, given),
    },
  ],
};

/** Copies from a lease, field by field, only what may be shown: never the token and its sealed form. `now` in milliseconds since the epoch. */
export function toListedToken(
  { account, scope, credentialId }: AccessTokenKey,
  lease: TokenLease | null,
  run: Pick<RunTimes, 'isOpen'>,
  now: number,
) {
  const { token = null, failure = null, renewals = 0 } = lease ?? {};
  return {
    ...{ account, scope, credentialId },
    state: run.isOpen ? stateOf(lease, now) : 'ended',
    obtainedAt: token?.requestedAt ?? null,
    renewFrom: token?.renewAt ?? null,
    expiresAt: token?.expiresAt ?? null,
    tokensSoFar: renewals,
    failure: failure && { code: failure.code, message: failure.message, at: failure.at, retryAt: failure.retryAt },
  };
}

type ListedToken = ReturnType<typeof toListedToken>;

function stateOf(lease: TokenLease | null, now: number) {
  if (lease?.failure) return 'failed';
  if (!lease?.token) return 'waiting';
  if (!isUsable(lease.token, now)) return 'expired';
  return Date.parse(lease.token.renewAt) > now ? 'serving' : 'renewalDue';
}

/** The list of tokens. */
export const tokenColumns: Columns<ListedToken> = {
  account: 'account',
  scope: ({ scope }) => clip(scope === '' ? 'unscoped' : scope, 20),
  state: ({ state, failure }) => (failure ? `failed: ${failure.code}` : state === 'renewalDue' ? 'renewal due' : state),
  ...{ 'obtained (UTC)': 'obtainedAt', 'expires (UTC)': 'expiresAt', 'so far': 'tokensSoFar' },
};

/** Why a token is missing. */
export const tokenFailures = (tokens: readonly ListedToken[]): string[] =>
  tokens.flatMap(({ account, failure }) =>
    failure ? [`${account}: ${plain(failure.message)} Tried again from ${utc(failure.retryAt)} UTC.`] : [],
  );

const listTokens = listing({
  name: 'tokens',
  empty: 'No token has been requested yet; the first call to the service requests one.',
  columns: tokenColumns,
  notes: tokenFailures,
  find(session) {
    const query = "WorkflowType = 'accessToken' AND ExecutionStatus != 'ContinuedAsNew'";
    const seen = new Set<string>(); // a lease that ended and began again is listed once, with its newest run
    return listRuns(session, query, limit, (info) => {
      const key = fromAccessTokenId(info.workflowId);
      if (!key || seen.has(info.workflowId)) return [];
      seen.add(info.workflowId);
      return [toListedToken(key, publishedLease(info.memo), toRunTimes(info), wallMs())];
    });
  },
});
