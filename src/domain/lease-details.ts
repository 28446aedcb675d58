import type { TokenLease } from './token-lease.js';
import { cell } from './trail-details.js';

/** The lease as Markdown for the Temporal UI. Holds times and the reason of a failure, never a token. */
export function describeLease(lease: TokenLease): string {
  const { token, failure, renewals } = lease;
  const rows = [
    ['token', token === null ? 'none yet' : token.id],
    ['obtained', token?.requestedAt ?? '-'],
    ['renewed from', token?.renewAt ?? '-'],
    ['expires', token?.expiresAt ?? '-'],
    ['granted scope', cell(token?.grantedScope ?? '-')],
    ['tokens so far', String(renewals)],
  ];
  const table = ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');
  if (failure === null) return table;
  return `**Attention: ${failure.code}** since ${failure.at}: ${failure.message} Asked again from ${failure.retryAt}.\n\n${table}`;
}
