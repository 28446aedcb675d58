import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { OrderTrail } from '../../client/index.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { failureBehind } from '../../temporal/run-errors.js';
import type { FoundRun } from '../../temporal/runs.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure, type RunFailure, toRunFailure } from '../failure.js';

/** The run of an order with its trail. Open: `trail` is null when no worker answered. Ended: null when the run failed. */
export interface OrderRun {
  found: FoundRun;
  trail: OrderTrail | null;
  failure: RunFailure | null;
}

/** What the search attributes say of an order; null where the run has not set them. */
export const knownOf = ({ typedSearchAttributes }: Pick<WorkflowExecutionInfo, 'typedSearchAttributes'>) => ({
  status: typedSearchAttributes.get(rideStatusKey) ?? null,
  seenBy: typedSearchAttributes.get(rideSeenByKey) ?? null,
  attention: typedSearchAttributes.get(rideAttentionKey) ?? null,
});

/** Long enough for a busy worker, short enough for a person who waits. */
const queryTimeoutMs = 5_000;

/** The newest run of an order, open or ended. Throws `CliFailure` NotFollowed. */
export async function getOrderRun(session: Session, { account, orderId }: FollowOrderKey): Promise<FoundRun> {
  const found = await session.find(followOrderId({ account, orderId }));
  if (found) return found;
  throw new CliFailure(
    'NotFollowed',
    `order ${orderId} of account ${account} is not followed, and Temporal remembers no run of it; follow it with: faretrail order follow ${account} ${orderId}`,
  );
}

/** The newest run of an order with its trail, which an open run answers a query with and an ended one has as its result. */
export async function readOrderRun(session: Session, key: FollowOrderKey): Promise<OrderRun> {
  return await readTrail(session, key, await getOrderRun(session, key));
}

/** The same for a run that has been found. */
export async function readTrail(
  { rides, within }: Session,
  { account, orderId }: FollowOrderKey,
  found: FoundRun,
): Promise<OrderRun> {
  const order = rides.get(account, orderId);
  if (found.isOpen) {
    // Whatever goes wrong here, the rest is still worth showing; so a missing worker is no error.
    const trail = await order.trail({ withinMs: queryTimeoutMs }).catch(() => null);
    return { found, trail, failure: null };
  }
  try {
    return { found, trail: await within(callTimeoutMs, () => order.result()), failure: null };
  } catch (error) {
    const failure = failureBehind(error);
    if (!failure) throw error;
    return { found, trail: null, failure: toRunFailure(failure) };
  }
}
