import { AsyncLocalStorage } from 'node:async_hooks';
import { ApplicationFailure } from '@temporalio/common';

/** How to end an attempt of an activity. */
export type End = { result?: unknown } | { failure: string; nonRetryable?: boolean; delayMs?: number };

/** The run and the activity of an attempt. */
export interface AttemptOf {
  runId: string;
  activityId: string;
}

interface Attempt {
  name: string;
  of: AttemptOf | undefined;
  end: (end: End) => void;
}

// One for all, since each slows down all promises of the process.
const attemptOf = new AsyncLocalStorage<AttemptOf>();

/** Activities that wait until a test ends them, so that the test decides the order of their events. */
export class Gates {
  /** What the current attempt belongs to. */
  readonly attemptOf = attemptOf;
  readonly #open: Attempt[] = [];
  #isClosed = false;

  /** The waiting activities, oldest first. */
  get names(): string[] {
    return this.#open.map(({ name }) => name);
  }

  /** How many activities of this run are waiting. */
  count(runId: string): number {
    return this.#open.filter(({ of }) => of?.runId === runId).length;
  }

  end(name: string, end: End): void {
    const at = this.#open.findIndex((one) => one.name === name);
    if (at < 0) throw new Error(`no attempt of ${name} waits`);
    const [attempt] = this.#open.splice(at, 1);
    attempt?.end(end);
  }

  /** The server has given up the former attempt of the activity, because it took too long. */
  #dropFormer(of: AttemptOf | undefined): void {
    const at = this.#open.findIndex((one) => one.of?.runId === of?.runId && one.of?.activityId === of?.activityId);
    if (of && at >= 0) this.#open.splice(at, 1)[0]?.end({ failure: 'Replaced' });
  }

  /** Ends all waiting activities, and from now on each new one at once, or its worker could never shut down. */
  close(): void {
    this.#isClosed = true;
    for (const { end } of this.#open.splice(0)) end(closed);
  }

  /** The activities with these names, for a worker. */
  activities(...names: string[]): Record<string, () => Promise<unknown>> {
    const waits = (name: string) => () =>
      new Promise<unknown>((resolve, reject) => {
        if (this.#isClosed) return reject(failureOf(closed));
        const of = this.attemptOf.getStore();
        this.#dropFormer(of);
        this.#open.push({
          name,
          of,
          end(how) {
            if ('failure' in how) reject(failureOf(how));
            else resolve(how.result);
          },
        });
      });
    return Object.fromEntries(names.map((name) => [name, waits(name)]));
  }
}

const closed = { failure: 'Closed', nonRetryable: true };

const failureOf = ({ failure, nonRetryable = false, delayMs }: Extract<End, { failure: string }>): Error =>
  ApplicationFailure.create({
    message: failure,
    type: failure,
    nonRetryable,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });
