import { isUsable, publishedLease, type TokenLease } from '../domain/token-lease.js';
import { type AccessTokenKey, fromAccessTokenId } from '../domain/workflow-ids.js';
import type { RunTimes } from '../temporal/runs.js';
import { type AddCommand, addCommand, inSession, type Session } from './command.js';
import { exitCodes } from './failure.js';
import { clip, type Paint, plain, tableText, utc } from './text.js';
import { listRuns, readEach } from './visibility.js';

const limit = 200;

const help = `
States: serving; renewal due (usable, the next call renews it); expired (no call
has needed it since); failed: <why> (the run tries again by itself); waiting (no
answer yet); ended (idle for two lifetimes, the next call starts a run). The
command never shows a token or its sealed form.`;

/** `token list`: the fleet's access tokens with their states. */
export const addTokenList: AddCommand = (token, run) => {
  const does = 'list access tokens with state, expiry and renewals';
  addCommand(token, 'list', { does, more: help }).action(run(inSession(list)));
};

async function list(session: Session): Promise<number> {
  const query = "WorkflowType = 'accessToken' AND ExecutionStatus != 'ContinuedAsNew'";
  const { found, hasMore } = await listRuns(session, query, limit);
  // An account's lease that ended and began again is listed more than once; `find` gives its newest run.
  const workflowIds = [...new Set(found.map(({ workflowId }) => workflowId))];
  const tokens = await readEach(workflowIds, (workflowId) => readToken(session, workflowId));
  session.tell({ tokens, hasMore }, tokensText(tokens, session.paint));
  if (hasMore) session.note(`Only the first ${limit} runs are shown; running ones come first.`);
  return exitCodes.done;
}

async function readToken(session: Session, workflowId: string): Promise<ListedToken[]> {
  const key = fromAccessTokenId(workflowId);
  const found = key && (await session.find(workflowId));
  return found ? [toListedToken(key, publishedLease(found.memo), found, Date.now())] : []; // Temporal has just forgotten it
}

type TokenState = 'serving' | 'renewalDue' | 'expired' | 'failed' | 'waiting' | 'ended';

/** One token lease, without the token and its sealed form. */
interface ListedToken extends AccessTokenKey {
  state: TokenState;
  obtainedAt: string | null;
  renewFrom: string | null;
  expiresAt: string | null;
  tokensSoFar: number;
  failure: { code: string; message: string; at: string; retryAt: string } | null;
}

/** Copies from a lease, field by field, only what may be shown. `now` in milliseconds since the epoch. */
export function toListedToken(
  { account, scope, credentialId }: AccessTokenKey,
  lease: TokenLease | null,
  run: Pick<RunTimes, 'isOpen'>,
  now: number,
): ListedToken {
  const { token = null, failure = null, renewals = 0 } = lease ?? {};
  return {
    account,
    scope,
    credentialId,
    state: run.isOpen ? stateOf(lease, now) : 'ended',
    obtainedAt: token?.requestedAt ?? null,
    renewFrom: token?.renewAt ?? null,
    expiresAt: token?.expiresAt ?? null,
    tokensSoFar: renewals,
    failure: failure && { code: failure.code, message: failure.message, at: failure.at, retryAt: failure.retryAt },
  };
}

function stateOf(lease: TokenLease | null, now: number): TokenState {
  if (lease?.failure) return 'failed';
  if (!lease?.token) return 'waiting';
  if (!isUsable(lease.token, now)) return 'expired';
  return Date.parse(lease.token.renewAt) > now ? 'serving' : 'renewalDue';
}

/** The tokens as a table, and below it why a token is missing. */
export function tokensText(tokens: readonly ListedToken[], paint: Paint): string {
  if (tokens.length === 0) return 'No token has been requested yet; the first call to the service requests one.';
  const rows = tokens.map((token) => [
    clip(token.account, 16),
    clip(token.scope === '' ? 'unscoped' : token.scope, 20),
    stateText(token, paint),
    utc(token.obtainedAt),
    utc(token.expiresAt),
    String(token.tokensSoFar),
  ]);
  const table = tableText(['account', 'scope', 'state', 'obtained (UTC)', 'expires (UTC)', 'so far'], rows, paint);
  const reasons = tokens.flatMap(({ account, failure }) =>
    failure ? [`${account}: ${plain(failure.message)} Tried again from ${utc(failure.retryAt)} UTC.`] : [],
  );
  return [table, ...(reasons.length > 0 ? ['', ...reasons] : [])].join('\n');
}

function stateText({ state, failure }: ListedToken, paint: Paint): string {
  if (state === 'failed') return paint('bad', clip(`failed: ${failure?.code ?? ''}`, 28));
  return state === 'renewalDue' ? 'renewal due' : paint(state === 'serving' ? 'good' : 'faint', state);
}
