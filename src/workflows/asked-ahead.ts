import type { WorkflowInterceptorsFactory, WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { askedAhead } from '../domain/asked-ahead.js';
import { leftByRunQuery } from './messages.js';

/**
 * Refuses to run a workflow ahead of its task. A query that had to wait for a worker comes with all that has happened by then,
 * and the SDK (1.24.0) runs the code on it. The task that follows then brings an update or a signal too late: a replay hands it
 * over first, no longer matches what was done, and the run stands still. After a refusal the run is loaded anew for its task, and
 * the question is asked again (`repeatWhenLost`).
 *
 * Only a task moves the clock of a run; so new events at an old time are ahead. A run that has ended gets no task any more, and what
 * came to it last would be ahead for ever; so the question that only such runs are asked is answered.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({ internals: [refuseAhead()] });

function refuseAhead(): WorkflowInternalsInterceptor {
  let before = { at: '', events: 0 };
  let isAhead = false;
  return {
    activate(input, next) {
      const { timestamp, historyLength, isReplaying, jobs } = input.activation;
      const questions = jobs?.flatMap(({ queryWorkflow }) => queryWorkflow?.queryType ?? []) ?? [];
      if (questions.length > 0) {
        if (isAhead && questions.some((question) => question !== leftByRunQuery.name)) throw new Error(askedAhead);
        return next(input);
      }
      const now = { at: `${timestamp?.seconds}.${timestamp?.nanos}`, events: historyLength ?? 0 };
      isAhead ||= now.at === before.at && now.events > before.events && !isReplaying;
      before = now;
      return next(input);
    },
  };
}
