import {
  type Client,
  isGrpcDeadlineError,
  type Workflow,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { RequestedRides } from '../activities/index.js';
import type { RideStanding } from '../domain/requested-ride.js';
import { requestRideId } from '../domain/workflow-ids.js';
import { repeatWhenLost } from './lost-update.js';

/** How long one attempt waits for the answer; most come in a second. */
const answerWithinMs = 4_000;
/** Temporal's client has no deadline of its own. */
const deadlineMs = 5_000;

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
