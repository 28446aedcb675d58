import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { FollowedOrders, RequestedRides } from '../activities/index.js';
import { deadlineIn } from '../clock.js';
import { readTrail } from '../domain/published.js';
import type { FollowedEnd, RideStanding } from '../domain/ride/ride.js';
import { followOrderId, requestRideId } from '../domain/workflow-ids.js';
import { followRequestedSignal, refreshOrderUpdate } from '../workflows/messages.js';
import { failureBehind, hasCode } from './run-errors.js';
import { runOf } from './runs.js';
import { beginFollowing } from './starts.js';

const soon = { withinMs: 5_000 };
/** Most reads take less than a second. A read that takes longer does not undo the change before it. */
const refreshed = { withinMs: 10_000 };

/** The ride itself and ten receivers of its caller make eleven, one more than a request takes. */
const receiversPerRequest = 10;

/** The runs of `followOrder` on `taskQueue`. */
export function createFollowedOrders(client: Client, taskQueue: string): FollowedOrders {
  const runOfOrder = (key: Parameters<typeof followOrderId>[0]) => runOf(client, followOrderId(key));
  return {
    async start({ input, receivers }) {
      const given = { input: { ...input, notify: receivers.slice(0, receiversPerRequest) }, taskQueue };
      const begun = await client.withDeadline(deadlineIn(soon.withinMs), () => beginFollowing(client, given));
      const others = receivers.slice(receiversPerRequest);
      if ('stays' in begun || others.length === 0) return; // after an end there are no changes, and the ride reads that end
      const run = runOfOrder(input);
      if (!(await run.signal(followRequestedSignal, { notify: others }, soon))) throw await run.closed(soon);
    },
    async readEnd(key) {
      const run = runOfOrder(key);
      try {
        const found = await run.find(soon);
        if (found?.isOpen) return null;
        if (!found) return toFailedEnd(undefined);
        const trail = readTrail(await run.result(soon));
        return trail === null ? toFailedEnd(undefined) : { kind: 'trail', trail };
      } catch (error) {
        const failure = failureBehind(error);
        if (failure || hasCode(error, 'NotFound')) return toFailedEnd(failure);
        throw error;
      }
    },
    async refresh(key) {
      try {
        return readTrail(await runOfOrder(key).update(refreshOrderUpdate, [], refreshed));
      } catch (error) {
        if (hasCode(error, 'NoAnswer', 'AlreadyEnded', 'NotFound')) return null;
        throw error;
      }
    },
  };
}

function toFailedEnd(failure: Error | undefined): FollowedEnd {
  if (failure instanceof ApplicationFailure && failure.type) {
    return { kind: 'failed', type: failure.type, message: failure.message };
  }
  const message = 'The run of the order was cancelled or terminated, left no trail, or is no longer known to Temporal.';
  return { kind: 'failed', type: 'NotFollowed', message };
}

/** How long one attempt waits for the answer; most answers take less than a second. */
const answerWithinMs = 4_000;

/** The runs of `requestRide`. */
export function createRequestedRides(client: Client): RequestedRides {
  return {
    async change({ change, argument, updateId, ...key }) {
      const ride = runOf(client, requestRideId(key));
      const sent = { updateId, withinMs: answerWithinMs };
      try {
        return await ride.update<RideStanding, [object]>(change, [argument], sent);
      } catch (error) {
        const refusal = toFinal(failureBehind(error));
        if (refusal) throw refusal;
        if (hasCode(error, 'NoAnswer')) return null;
        if (hasCode(error, 'AlreadyEnded'))
          throw failure('AlreadyEnded', 'The ride has ended; the result of requestRide says how.');
        if (hasCode(error, 'NotFound'))
          throw failure('RideNotRequested', `Temporal remembers no ride ${key.requestId} of account ${key.account}.`);
        throw error;
      }
    },
  };
}

/** The failure of the update as one that is not retried: the ride itself has retried what may help. */
function toFinal(cause: Error | undefined): ApplicationFailure | undefined {
  if (!(cause instanceof ApplicationFailure)) return cause && failure('NotChanged', cause.message);
  return failure(cause.type ?? 'NotChanged', cause.message, cause.details ?? []);
}

const failure = (type: string, message: string, details: unknown[] = []): ApplicationFailure =>
  ApplicationFailure.create({ type, message, details, nonRetryable: true });
