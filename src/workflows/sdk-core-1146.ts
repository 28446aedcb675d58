import type { ActivateInput, Next, WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { askedAhead } from '../domain/errors.js';

/**
 * Refuses a query that has led a run ahead of its task (SDK 1.24.0, sdk-core issue 1146). A query that waited for a worker comes with all
 * events until then, and the SDK runs the code on them, at the time of the last task. The next task then delivers an update or a signal too
 * late, or nothing at all: a replay runs the same code at another time or in another order, its commands differ, and the run is blocked.
 * After a refusal the worker loads the run anew for its task, and our callers repeat the query.
 *
 * Only a task moves the clock of a run, so new events at an old time are ahead. A run that was terminated before a task had brought it its
 * last events stays ahead for ever and answers no query. `test/e2e/worker/workers.test.ts` tells when this file may go: once its runs replay
 * without it.
 */
export class RefuseAhead implements WorkflowInternalsInterceptor {
  #at = '';
  #events = 0;
  #isAhead = false;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    if (!input.activation.jobs?.some(({ queryWorkflow }) => queryWorkflow)) this.#note(input.activation);
    else if (this.#isAhead) throw new Error(askedAhead);
    next(input);
  }

  #note({ timestamp, historyLength, isReplaying }: ActivateInput['activation']): void {
    const at = `${timestamp?.seconds}.${timestamp?.nanos}`;
    const events = historyLength ?? 0;
    this.#isAhead ||= at === this.#at && events > this.#events && !isReplaying;
    this.#at = at;
    this.#events = events;
  }
}
