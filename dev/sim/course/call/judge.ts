// The promises of faretrail about calls, checked after their course. The numbers are those of the invariants.
import type { CallFailureType } from '../../../../src/domain/call.js';
import { calmFrom } from '../evidence.js';
import { generalPromises } from '../general-promises.js';
import { durationText } from '../in-words.js';
import { judgeBy } from '../scenario.js';
import type { CallCourse, PlayedCall } from './course.js';

export const judge = judgeBy<CallCourse>([
  ...generalPromises,
  ['I7: a call ends in time', lateEnds],
  ['I9: one call is one order at most, and its answer says the truth', wrongOrders],
]);

const minute = 60_000;
/** A create is retried for ten minutes, and its last attempt may take another minute to time out. */
const endWithinMs = 15 * minute;

const nameOf = ({ workflowId }: PlayedCall): string => workflowId;

function lateEnds({ calls, plan, startedAt }: CallCourse): string[] {
  return calls.flatMap((call) => {
    const last = call.runs.at(-1);
    if (!last) return [`${nameOf(call)} was not started`];
    const deeds = call.deeds.map(({ atMs, kind }) => ({ atMs: call.startsMs + atMs, kind }));
    const about = { startedAt, plan: { disturbances: plan.disturbances, deeds } };
    const due = calmFrom(about, startedAt + call.startsMs, endWithinMs) + endWithinMs;
    if (!last.isOpen && (last.closedMs ?? 0) <= due) return [];
    const ended = last.isOpen ? 'it goes on' : `it ended at ${durationText((last.closedMs ?? 0) - startedAt)}`;
    return [`${nameOf(call)} was due by ${durationText(due - startedAt)}, ${ended}`];
  });
}

/** These failures say that the service has done nothing. */
const without: readonly CallFailureType[] = ['Unavailable', 'Refused', 'Forbidden', 'CredentialsRejected'];

function wrongOrders({ calls, world }: CallCourse): string[] {
  return calls.flatMap((call) => {
    const created = world.service.state.rides.all().filter(({ requestId }) => requestId === call.workflowId);
    if (created.length > 1) return [`${nameOf(call)} has made ${created.length} orders`];
    const last = call.runs.at(-1);
    const end = last?.events.at(-1);
    if (last?.status === 'COMPLETED')
      return (created.length === 1) === (call.operation === 'createOrder')
        ? []
        : [`${nameOf(call)} succeeded, and made ${created.length} orders`];
    const type = end?.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo?.type;
    const isSure = without.some((one) => one === type);
    return isSure && created.length > 0 ? [`${nameOf(call)} failed as ${type}, but its order exists`] : [];
  });
}
