import { type WorkflowExecutionDescription, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { OrderTrail } from '../../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { repeatWhenLost } from '../../temporal/lost-update.js';
import { orderTrailQuery } from '../../workflows/messages.js';
import type { followOrder } from '../../workflows/order/follow-order.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure, type RunFailure, toRunFailure } from '../failure.js';

/** Temporal's word for how a run stands, in lower case: running, completed, failed, cancelled, terminated, timed out. */
export type RunState = string;

/** What Temporal itself knows of the run of an order; that needs no worker. */
export interface RunOutline {
  workflowId: string;
  state: RunState;
  isOpen: boolean;
  startedAt: string;
  endedAt: string | null;
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

const handleOf = ({ client }: Session, key: FollowOrderKey) =>
  client.workflow.getHandle<typeof followOrder>(followOrderId(key));

/** Undefined when nobody has followed the order, as far as Temporal remembers. */
export async function findOrderRun(session: Session, key: FollowOrderKey): Promise<RunOutline | undefined> {
  try {
    return toOutline(await session.within(callTimeoutMs, () => handleOf(session, key).describe()));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
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
export async function readTrail(session: Session, key: FollowOrderKey, outline: RunOutline): Promise<OrderRun> {
  if (!outline.isOpen) return { ...outline, ...(await readResult(session, key)) };
  return { ...outline, trail: await askForTrail(session, key), failure: null };
}

/** Whatever goes wrong here, the outline is still worth showing; so no worker is no error. */
async function askForTrail(session: Session, key: FollowOrderKey): Promise<OrderTrail | null> {
  try {
    return await session.within(queryTimeoutMs, () =>
      repeatWhenLost(() => handleOf(session, key).query(orderTrailQuery)),
    );
  } catch {
    return null;
  }
}

async function readResult(session: Session, key: FollowOrderKey): Promise<Pick<OrderRun, 'trail' | 'failure'>> {
  try {
    return { trail: await session.within(callTimeoutMs, () => handleOf(session, key).result()), failure: null };
  } catch (error) {
    if (error instanceof WorkflowFailedError) return { trail: null, failure: toRunFailure(error.cause) };
    throw error;
  }
}

function toOutline(found: WorkflowExecutionDescription): RunOutline {
  const attributes = found.typedSearchAttributes;
  return {
    workflowId: found.workflowId,
    ...toRunTimes(found),
    known: {
      status: attributes.get(rideStatusKey) ?? null,
      seenBy: attributes.get(rideSeenByKey) ?? null,
      attention: attributes.get(rideAttentionKey) ?? null,
    },
    version: `${found.runId}/${found.historyLength}`,
  };
}

/** How a run stands and since when, of a description or of an entry in a list. */
export function toRunTimes({
  status,
  startTime,
  closeTime,
}: Pick<WorkflowExecutionDescription, 'status' | 'startTime' | 'closeTime'>): Pick<
  RunOutline,
  'state' | 'isOpen' | 'startedAt' | 'endedAt'
> {
  return {
    state: status.name.toLowerCase().replaceAll('_', ' '),
    isOpen: status.name === 'RUNNING' || status.name === 'PAUSED',
    startedAt: startTime.toISOString(),
    endedAt: closeTime?.toISOString() ?? null,
  };
}
