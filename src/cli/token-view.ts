import { isUsable, type TokenLease } from '../domain/token-lease.js';
import type { AccessTokenKey } from '../domain/workflow-ids.js';
import type { RunOutline } from './order-run.js';
import type { Paint } from './paint.js';
import { clip, plain, utc } from './plain-text.js';
import { tableText } from './table.js';

export type TokenState = 'serving' | 'renewalDue' | 'expired' | 'failed' | 'waiting' | 'ended';

/** One token lease without what it guards: neither the token nor its sealed form. */
export interface ListedToken extends AccessTokenKey {
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
  run: Pick<RunOutline, 'isOpen'>,
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
  if (tokens.length === 0) return 'No token has been asked for yet; the first call to the service does.';
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
    failure ? [`${account}: ${plain(failure.message)} Asked again from ${utc(failure.retryAt)} UTC.`] : [],
  );
  return [table, ...(reasons.length > 0 ? ['', ...reasons] : [])].join('\n');
}

function stateText({ state, failure }: ListedToken, paint: Paint): string {
  if (state === 'failed') return paint('bad', clip(`failed: ${failure?.code ?? ''}`, 28));
  return state === 'renewalDue' ? 'renewal due' : paint(state === 'serving' ? 'good' : 'faint', state);
}
