import {
  type Client,
  isGrpcDeadlineError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { FollowedOrders } from '../activities/index.js';
import type { FollowedEnd } from '../domain/following.js';
import { readTrail } from '../domain/published.js';
import { followOrderId } from '../domain/workflow-ids.js';
import type { followOrder } from '../workflows/follow-order.js';
import { followRequestedSignal, refreshOrderUpdate } from '../workflows/follow-order-messages.js';
import { beginFollowing } from './follow-start.js';

/** Temporal's client has no deadline of its own. */
const deadlineMs = 5_000;
/** A read takes a moment; while the service cannot be read, the change that asked for it has been made all the same. */
const refreshWithinMs = 10_000;

/** A ride and the ten receivers of its caller are one too many for one request. */
const receiversPerRequest = 10;

/** The runs of `followOrder` on `taskQueue`. */
export function createFollowedOrders(client: Client, taskQueue: string): FollowedOrders {
  const inTime = <T>(call: () => Promise<T>, ms = deadlineMs): Promise<T> => client.withDeadline(Date.now() + ms, call);
  const handleOf = (key: Parameters<typeof followOrderId>[0]) =>
    client.workflow.getHandle<typeof followOrder>(followOrderId(key));
  return {
    async start({ input, receivers }) {
      const notify = receivers.slice(0, receiversPerRequest);
      const begun = await inTime(() => beginFollowing(client, { input: { ...input, notify }, taskQueue }));
      const others = receivers.slice(receiversPerRequest);
      if ('stays' in begun || others.length === 0) return; // of an end there is nothing to tell, and it can be read
      await inTime(() => handleOf(input).signal(followRequestedSignal, { notify: others }));
    },
    async readEnd(key) {
      try {
        const { status } = await inTime(() => handleOf(key).describe());
        if (status.name === 'RUNNING' || status.name === 'PAUSED') return null;
        const trail = readTrail(await inTime(() => handleOf(key).result()));
        return trail === null ? noTrail : { kind: 'trail', trail };
      } catch (error) {
        if (error instanceof WorkflowFailedError) return toFailedEnd(error.cause);
        if (error instanceof WorkflowNotFoundError) return toFailedEnd(undefined);
        throw error;
      }
    },
    async refresh(key) {
      try {
        return readTrail(await inTime(() => handleOf(key).executeUpdate(refreshOrderUpdate), refreshWithinMs));
      } catch (error) {
        const isLate = error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isGrpcDeadlineError(error);
        if (isLate || error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },
  };
}

const noTrail: FollowedEnd = {
  kind: 'failed',
  type: 'NotFollowed',
  message: 'The run with the id of this order has ended without a trail, so it was none that followed the order.',
};

function toFailedEnd(cause: unknown): FollowedEnd {
  if (cause instanceof ApplicationFailure && cause.type) {
    return { kind: 'failed', type: cause.type, message: cause.message };
  }
  const message = 'The run that followed the order was cancelled or terminated, or Temporal no longer knows it.';
  return { kind: 'failed', type: 'NotFollowed', message };
}
