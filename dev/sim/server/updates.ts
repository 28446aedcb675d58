import type { Payload, ProtoFailure } from '@temporalio/common';
import type { DoUpdate } from '../sdk/activation.js';
import { grpcError } from './grpc.js';

export type Outcome = { success: { payloads: Payload[] } } | { failure: ProtoFailure };

/** An update request, and how far it has come. */
export interface Update extends Omit<DoUpdate, 'runValidator'> {
  identity: string;
  state: 'admitted' | 'sent' | 'accepted' | 'completed';
  acceptedEventId: number | null;
  /** A reset has already written the request into the history. */
  isInHistory: boolean;
  outcome: Outcome | null;
  /** Callers waiting for the outcome. */
  readonly waiting: Completion[];
}

interface Completion {
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

/**
 * The updates of a run, by id. The errors that callers get follow the server's abort reasons
 * (service/history/workflow/update).
 */
export class Updates {
  readonly #all = new Map<string, Update>();

  find(id: string): Update | undefined {
    return this.#all.get(id);
  }

  admit(given: Omit<DoUpdate, 'runValidator'>, identity: string): Update {
    const update: Update = {
      ...given,
      identity,
      state: 'admitted',
      acceptedEventId: null,
      isInHistory: false,
      outcome: null,
      waiting: [],
    };
    this.#all.set(given.id, update);
    return update;
  }

  get isAnyAdmitted(): boolean {
    return this.#ofState('admitted').length > 0;
  }

  /** Marks the admitted updates as sent with the task that is starting. */
  send(): Update[] {
    const sent = this.#ofState('admitted');
    for (const update of sent) update.state = 'sent';
    return sent;
  }

  complete(update: Update, outcome: Outcome): void {
    update.state = 'completed';
    update.outcome = outcome;
    for (const { resolve } of update.waiting.splice(0)) resolve(outcome);
  }

  /** A rejected update leaves no trace, so its id can be used again. */
  reject(update: Update, failure: ProtoFailure): void {
    this.#all.delete(update.id);
    this.complete(update, { failure });
  }

  /** Rejects the updates that a completed task did not answer. */
  rejectUnprocessed(): void {
    for (const update of this.#ofState('sent')) this.reject(update, unprocessed);
  }

  /** The task was lost, so the next task carries its updates. */
  sendAgain(): void {
    for (const update of this.#ofState('sent')) update.state = 'admitted';
  }

  /** The server failed the task. The run may have seen these updates, so they are not sent again. */
  abortSent(): void {
    const message = 'Unable to perform workflow execution update due to unexpected workflow task failure.';
    for (const update of this.#ofState('sent')) this.#abort(update, grpcError('FAILED_PRECONDITION', message));
  }

  /** Ends all open updates of a closed run. Returns those to pass on to the next run if it continues as new. */
  close(continues: boolean): Update[] {
    for (const update of this.#ofState('accepted')) this.complete(update, { failure: closedBefore });
    const unseen = [...this.#ofState('admitted'), ...this.#ofState('sent')];
    if (continues) return unseen;
    for (const update of unseen)
      this.#abort(update, grpcError('NOT_FOUND', 'workflow update was aborted by closing workflow'));
    return [];
  }

  #abort(update: Update, error: Error): void {
    this.#all.delete(update.id);
    for (const { reject } of update.waiting.splice(0)) reject(error);
  }

  #ofState(state: Update['state']): Update[] {
    return [...this.#all.values()].filter((update) => update.state === state);
  }
}

/** Resolves with the outcome of an update. */
export const outcomeOf = (update: Update): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    if (update.outcome) resolve(update.outcome);
    else update.waiting.push({ resolve, reject });
  });

const unprocessed: ProtoFailure = {
  message: 'Workflow Update is rejected because it was not processed by worker.',
  source: 'Server',
  applicationFailureInfo: { type: 'UnprocessedUpdate', nonRetryable: true },
};

const closedBefore: ProtoFailure = {
  message: 'Workflow Update failed because the Workflow completed before the Update completed.',
  source: 'Server',
  applicationFailureInfo: { type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true },
};
