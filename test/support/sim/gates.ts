import { AsyncLocalStorage } from 'node:async_hooks';
import { ApplicationFailure } from '@temporalio/common';

/** How to end an attempt of an activity. */
export type End = { result?: unknown } | { failure: string; nonRetryable?: boolean; delayMs?: number };

interface Attempt {
  name: string;
  runId: string | undefined;
  end: (end: End) => void;
}

/** Activities that wait until a test ends them, so that the test decides the order of their events. */
export class Gates {
  /** The run of the current attempt. */
  readonly runId = new AsyncLocalStorage<string>();
  readonly #open: Attempt[] = [];

  /** The waiting activities, oldest first. */
  get names(): string[] {
    return this.#open.map(({ name }) => name);
  }

  /** How many activities of this run are waiting. */
  count(runId: string): number {
    return this.#open.filter((one) => one.runId === runId).length;
  }

  end(name: string, end: End): void {
    const at = this.#open.findIndex((one) => one.name === name);
    if (at < 0) throw new Error(`no attempt of ${name} waits`);
    const [attempt] = this.#open.splice(at, 1);
    attempt?.end(end);
  }

  /** Ends all waiting activities. */
  close(): void {
    for (const { end } of this.#open.splice(0)) end({ failure: 'Closed', nonRetryable: true });
  }

  /** The activities with these names, for a worker. */
  activities(...names: string[]): Record<string, () => Promise<unknown>> {
    const waits = (name: string) => () =>
      new Promise<unknown>((resolve, reject) => {
        this.#open.push({
          name,
          runId: this.runId.getStore(),
          end(how) {
            if ('failure' in how) reject(failureOf(how));
            else resolve(how.result);
          },
        });
      });
    return Object.fromEntries(names.map((name) => [name, waits(name)]));
  }
}

const failureOf = ({ failure, nonRetryable = false, delayMs }: Extract<End, { failure: string }>): Error =>
  ApplicationFailure.create({
    message: failure,
    type: failure,
    nonRetryable,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });
