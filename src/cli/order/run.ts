import type { OrderTrail } from '../../client/index.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { failureBehind } from '../../temporal/run-errors.js';
import { type FoundRun, type RunTimes, runOf } from '../../temporal/runs.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure, type RunFailure, toRunFailure } from '../failure.js';

/** What Temporal itself knows of the run of an order; that needs no worker. */
export interface RunOutline extends RunTimes {
  workflowId: string;
  /** As in the search attributes; null when the run has not set them. */
  known: { status: string | null; seenBy: string | null; attention: string | null };
  /** Changes whenever anything happened in the run. */
  version: string;
}

/** The run with its trail. Open: `trail` is null when no worker answered. Ended: null when the run failed. */
export interface OrderRun extends RunOutline {
  trail: OrderTrail | null;
  failure: RunFailure | null;
}

/** Long enough for a busy worker, short enough for a person who waits. */
const queryTimeoutMs = 5_000;

/** Undefined when nobody has followed the order, as far as Temporal remembers. */
export async function findOrderRun({ client }: Session, key: FollowOrderKey): Promise<RunOutline | undefined> {
  const found = await runOf(client, followOrderId(key)).find({ withinMs: callTimeoutMs });
  return found && toOutline(found);
}

/** The same where there must be one. Throws `CliFailure` NotFollowed. */
export async function getOrderRun(session: Session, key: FollowOrderKey): Promise<RunOutline> {
  const found = await findOrderRun(session, key);
  if (found) return found;
  const { account, orderId } = key;
  throw new CliFailure(
    'NotFollowed',
    `order ${orderId} of account ${account} is not followed, and Temporal remembers no run of it; follow it with: faretrail order follow ${account} ${orderId}`,
  );
}

/** Adds the trail: asked of the run while it is open, else its result. */
export async function readTrail(
  { rides, within }: Session,
  { account, orderId }: FollowOrderKey,
  outline: RunOutline,
): Promise<OrderRun> {
  const order = rides.get(account, orderId);
  if (outline.isOpen) {
    // Whatever goes wrong here, the outline is still worth showing; so no worker is no error.
    const trail = await order.trail({ withinMs: queryTimeoutMs }).catch(() => null);
    return { ...outline, trail, failure: null };
  }
  try {
    return { ...outline, trail: await within(callTimeoutMs, () => order.result()), failure: null };
  } catch (error) {
    const failure = failureBehind(error);
    if (!failure) throw error;
    return { ...outline, trail: null, failure: toRunFailure(failure) };
  }
}

function toOutline({
  workflowId,
  state,
  isOpen,
  startedAt,
  endedAt,
  version,
  typedSearchAttributes: known,
}: FoundRun): RunOutline {
  return {
    ...{ workflowId, state, isOpen, startedAt, endedAt },
    known: {
      status: known.get(rideStatusKey) ?? null,
      seenBy: known.get(rideSeenByKey) ?? null,
      attention: known.get(rideAttentionKey) ?? null,
    },
    version,
  };
}
