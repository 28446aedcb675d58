import {
  type Client,
  isGrpcDeadlineError,
  type Workflow,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { FollowedOrders, RequestedRides } from '../activities/index.js';
import { readTrail } from '../domain/published.js';
import type { FollowedEnd, RideStanding } from '../domain/ride/ride.js';
import { followOrderId, requestRideId } from '../domain/workflow-ids.js';
import { followRequestedSignal, refreshOrderUpdate } from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import { beginFollowing } from './follow-start.js';
import { repeatWhenLost } from './lost-update.js';

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

/** How long one attempt waits for the answer; most come in a second. */
const answerWithinMs = 4_000;
/** Temporal's client has no deadline of its own. */

/** The runs of `requestRide`. */
export function createRequestedRides(client: Client): RequestedRides {
  const inTime = <T>(ms: number, call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + ms, call);
  return {
    async change({ change, argument, updateId, ...key }) {
      const handle = client.workflow.getHandle<Workflow>(requestRideId(key));
      const send = () => handle.executeUpdate<RideStanding, [object]>(change, { args: [argument], updateId });
      try {
        return await inTime(answerWithinMs, () => repeatWhenLost(send));
      } catch (error) {
        if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isGrpcDeadlineError(error)) return null;
        if (error instanceof WorkflowUpdateFailedError) throw toFailure(error);
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        throw await inTime(deadlineMs, () => handle.describe()).then(
          () => failure('AlreadyEnded', 'The ride has ended; the result of requestRide tells how.'),
          (reason: unknown) => (reason instanceof WorkflowNotFoundError ? notRequested(key) : reason),
        );
      }
    },
  };
}

/** That of the update, for good: the ride itself has tried all that may help. */
function toFailure({ cause, message }: WorkflowUpdateFailedError): ApplicationFailure {
  if (!(cause instanceof ApplicationFailure)) return failure('NotChanged', message);
  return failure(cause.type ?? 'NotChanged', cause.message, cause.details ?? []);
}

const failure = (type: string, message: string, details: unknown[] = []): ApplicationFailure =>
  ApplicationFailure.create({ type, message, details, nonRetryable: true });

const notRequested = ({ account, requestId }: Parameters<typeof requestRideId>[0]): ApplicationFailure =>
  failure('RideNotRequested', `Temporal remembers no ride ${requestId} of account ${account}.`);
