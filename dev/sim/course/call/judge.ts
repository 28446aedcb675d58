// The promises of faretrail about calls, checked after their course. The numbers are those of the invariants.
import type { CallFailureType } from '../../../../src/domain/call.js';
import { isSameStatus } from '../../../../src/domain/order/status.js';
import { calmFrom } from '../evidence.js';
import { generalPromises } from '../general-promises.js';
import { durationText } from '../in-words.js';
import { judgeBy } from '../scenario.js';
import { account, type CallCourse, change, type PlayedCall } from './course.js';

export const judge = judgeBy<CallCourse>([
  ...generalPromises,
  ['I7: a call ends in time', lateEnds],
  ['I9: one create is one order at most, and the answer of each call says the truth', wrongEffects],
]);

const minute = 60_000;
/** A change is retried for 15 minutes, and its last attempt may take another minute to time out. */
const endWithinMs = 20 * minute;

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

/** Number of times that a call took effect at the service. */
function effectsOf({ world: { service } }: CallCourse, { operation, workflowId, orderId }: PlayedCall): number {
  const { rides } = service.state;
  switch (operation) {
    case 'createOrder':
      return rides.all().filter(({ requestId }) => requestId === workflowId).length;
    case 'updateOrder':
      return rides.find(orderId ?? '')?.order.note_to_driver === change.note_to_driver ? 1 : 0;
    case 'cancelOrder':
      return orderId !== null && isSameStatus(service.statusOf(account, orderId) ?? null, 'Cancelled') ? 1 : 0;
    case 'companySettings':
      return 0;
  }
}

function wrongEffects(course: CallCourse): string[] {
  return course.calls.flatMap((call) => {
    const effects = effectsOf(course, call);
    if (effects > 1) return [`${nameOf(call)} has made ${effects} orders`];
    const wanted = call.operation === 'companySettings' ? 0 : 1;
    const last = call.runs.at(-1);
    if (last?.status === 'COMPLETED')
      return effects === wanted ? [] : [`${nameOf(call)} succeeded, but ${call.operation} took no effect`];
    const type = last?.events.at(-1)?.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo?.type;
    const isSure = without.some((one) => one === type);
    return isSure && effects > 0 ? [`${nameOf(call)} failed as ${type}, but ${call.operation} took effect`] : [];
  });
}
