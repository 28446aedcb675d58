import type { Payload, ProtoFailure } from '@temporalio/common';
import type { DoUpdate } from '../sdk/activation.js';
import { grpcError } from './grpc.js';

export type Outcome = { success: { payloads: Payload[] } } | { failure: ProtoFailure };

/** An update that a run has been asked for. */
export interface Update extends Omit<DoUpdate, 'runValidator'> {
  identity: string;
  state: 'admitted' | 'sent' | 'accepted' | 'completed';
  acceptedEventId: number | null;
  /** A reset has written down that it was asked for. */
  isInHistory: boolean;
  outcome: Outcome | null;
  /** Of those who wait for its end. */
  readonly waiting: Completion[];
}

interface Completion {
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

/** The updates of a run: each id once. Which errors callers get is the server's table of reasons (service/history/workflow/update). */
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

  /** Those that a task takes along. */
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

  /** A rejected update leaves no trace: its id may come again. */
  reject(update: Update, failure: ProtoFailure): void {
    this.#all.delete(update.id);
    this.complete(update, { failure });
  }

  /** A task ended without them. */
  rejectUnprocessed(): void {
    for (const update of this.#ofState('sent')) this.reject(update, unprocessed);
  }

  /** The task was lost: the next one takes them along. */
  sendAgain(): void {
    for (const update of this.#ofState('sent')) update.state = 'admitted';
  }

  /** The server has failed the task: what the run may have seen is not sent again. */
  abortSent(): void {
    const message = 'Unable to perform workflow execution update due to unexpected workflow task failure.';
    for (const update of this.#ofState('sent')) this.#abort(update, grpcError('FAILED_PRECONDITION', message));
  }

  /** The run has ended. Gives those that the next run takes, if it continues as new. */
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

/** The end of an update. */
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
