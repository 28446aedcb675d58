import type { WorkflowExecutionInfo } from '@temporalio/client';
import { publishedLease } from '../domain/published.js';
import { isUsable, type TokenLease } from '../domain/token/lease.js';
import { type AccessTokenKey, fromAccessTokenId } from '../domain/workflow-ids.js';
import { type RunTimes, runOf } from '../temporal/runs.js';
import { type AddCommand, addCommand, type CommandContext, callTimeoutMs, inSession, type Session } from './command.js';
import { exitCodes } from './failure.js';
import { clip, type Paint, plain, tableText, utc } from './text.js';
import { listRuns, readEach } from './visibility.js';

const limit = 200;

const help = `
States: serving; renewal due (still serving, the next call renews it); expired
(no call has needed it since); failed: <why> (the run tries again by itself);
waiting (no answer yet); ended (two idle lifetimes, the next call starts a run).
Neither a token nor its sealed form is ever shown.`;

/** `token list`: how the fleet's access tokens stand. */
export const addTokenList: AddCommand = (token, run) => {
  const does = 'list access tokens with state, expiry and renewals';
  addCommand(token, 'list', { does, more: help }).action(run(inSession(list)));
};

async function list(context: CommandContext, session: Session): Promise<number> {
  const query = "WorkflowType = 'accessToken' AND ExecutionStatus != 'ContinuedAsNew'";
  const { found, hasMore } = await listRuns(session, query, limit);
  const tokens = await readEach(newestOfEach(found), (workflowId) => readToken(session, workflowId));
  context.tell({ tokens, hasMore }, tokensText(tokens, context.paint));
  if (hasMore) context.note(`Only the first ${limit} runs are shown; running ones come first.`);
  return exitCodes.done;
}

/** The list has open runs first, then the last that ended. */
function newestOfEach(found: readonly WorkflowExecutionInfo[]): string[] {
  return [...new Set(found.map(({ workflowId }) => workflowId))];
}

async function readToken({ client }: Session, workflowId: string): Promise<ListedToken[]> {
  const key = fromAccessTokenId(workflowId);
  const found = key && (await runOf(client, workflowId).find({ withinMs: callTimeoutMs }));
  return found ? [toListedToken(key, publishedLease(found.memo), found, Date.now())] : []; // it ended after the list was made
}

type TokenState = 'serving' | 'renewalDue' | 'expired' | 'failed' | 'waiting' | 'ended';

/** One token lease without what it guards: neither the token nor its sealed form. */
interface ListedToken extends AccessTokenKey {
  state: TokenState;
  obtainedAt: string | null;
  renewFrom: string | null;
  expiresAt: string | null;
  grantedScope: string | null;
  tokensSoFar: number;
  failure: { code: string; message: string; at: string; retryAt: string } | null;
}

/** Takes from a lease, field by field, what may be shown. `now` in milliseconds since the epoch. */
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
    grantedScope: token?.grantedScope ?? null,
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

/** The tokens as a table, and below it why one is missing. */
export function tokensText(tokens: readonly ListedToken[], paint: Paint): string {
  if (tokens.length === 0) return 'No token has been requested yet; the first call to the service requests one.';
  const rows = tokens.map((token) => [
    clip(token.account, 16),
    clip(token.scope === '' ? 'unscoped' : token.scope, 20),
    stateText(token, paint),
    token.obtainedAt === null ? '-' : utc(token.obtainedAt),
    token.expiresAt === null ? '-' : utc(token.expiresAt),
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
