import { metricMeter } from '@temporalio/workflow';
import { toKnownStatus } from '../domain/ride-status.js';
import { type FoundChange, statusLagMs } from '../domain/status-lag.js';
import type { OrderTrail } from '../domain/trail.js';

// The meter counts nothing while a run is replayed. Labels are words from closed lists.

interface Seen extends Omit<FoundChange, 'now'> {
  before: OrderTrail;
  after: OrderTrail;
}

/** Counts a change of the status by what made us look, and how late it was seen. */
export function countChange({ before, after, seen, claims, lastReadAt }: Seen): void {
  if (after.status === null || after.status === before.status) return;
  const foundBy = before.status === null ? 'first' : claims.length > 0 ? 'delivery' : 'read';
  metricMeter
    .createCounter(
      'faretrail_status_changes_total',
      undefined,
      'Changes of the status of orders by how they were seen.',
    )
    .add(1, { account: after.account, status: toKnownStatus(after.status) ?? 'other', seen_by: foundBy });
  const lagMs = statusLagMs({ seen, claims, lastReadAt, now: Date.now() });
  if (foundBy === 'first' || lagMs === undefined) return;
  metricMeter
    .createHistogram('faretrail_status_lag_seconds', 'float', 's', 'How late changes of the status were seen.')
    .record(lagMs / 1_000, { seen_by: foundBy });
}

/** Counts the end of a run; without an outcome the service does not know the order. */
export const countEnd = ({ account, outcome }: OrderTrail): void =>
  metricMeter
    .createCounter('faretrail_order_ends_total', undefined, 'Runs that followed an order, by how they ended.')
    .add(1, { account, outcome: outcome ?? 'notFound' });
