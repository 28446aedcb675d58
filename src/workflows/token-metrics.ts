import { metricMeter } from '@temporalio/workflow';
import type { TokenLease } from '../domain/token-lease.js';
import type { AccessTokenKey } from '../domain/workflow-ids.js';

/** Counts what has come of a wish that led from one lease to another; not again when the run is replayed. */
export const countRenewal = (
  { account, scope }: AccessTokenKey,
  reason: string,
  { before, after }: { before: TokenLease; after: TokenLease },
): void =>
  metricMeter
    .createCounter(
      'faretrail_token_renewals_total',
      undefined,
      'Renewals of access tokens by their reason and outcome.',
    )
    .add(1, {
      account,
      scope: scope || 'unscoped',
      reason,
      outcome: after.renewals > before.renewals ? 'ok' : (after.failure?.code ?? 'ok'),
    });
