import type { ActivateInput, Next, WorkflowInternalsInterceptor } from '@temporalio/workflow';

/**
 * Keeps a run that a query has led ahead of its tasks from going on (SDK 1.24.0, sdk-core issue 1146). A query that waited for a worker
 * comes with all events until then, and the SDK runs the code on them. The next task then delivers an update or a signal too late: a replay
 * delivers it first, so its commands differ and the run is blocked.
 *
 * So the query is answered, and the next task fails, once: Temporal repeats it with the whole history, on a run that a worker loads anew. A
 * run that has ended gets no more tasks, so its queries and its call stack need nothing. To refuse the query instead would leave a run without
 * answers that was terminated before a task had brought it a signal, and make the task of others wait for ten seconds.
 *
 * Only a task moves the clock of a run, so new events at an old time are ahead. `test/e2e/worker/workers.test.ts` and `queried-orders.test.ts`
 * tell when this file may go: once their runs replay without it.
 */
export class ReloadAhead implements WorkflowInternalsInterceptor {
  #at = '';
  #events = 0;
  #isAhead = false;
  #isAsked = false;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const { jobs } = input.activation;
    if (jobs?.some(({ queryWorkflow }) => queryWorkflow)) this.#isAsked ||= this.#isAhead;
    else this.#note(input.activation);
    next(input);
  }

  #note({ timestamp, historyLength, isReplaying }: ActivateInput['activation']): void {
    const at = `${timestamp?.seconds}.${timestamp?.nanos}`;
    const events = historyLength ?? 0;
    const isNews = events > this.#events;
    if (this.#isAsked && isNews && at !== this.#at) throw new Error(ranAhead);
    this.#isAhead ||= isNews && at === this.#at && !isReplaying;
    this.#at = at;
    this.#events = events;
  }
}

/** `chaos/task-failures.ts` knows this text, since such a task is no fault. */
const ranAhead = 'A query has led this run ahead of its task; a worker loads it anew.';
