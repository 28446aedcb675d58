import type { UpdateDefinition } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { InvalidInput } from '../domain/errors.js';

/** Runs a parser; its `InvalidInput` becomes the failure type of that name, which ends the run or refuses the update. */
export function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw ApplicationFailure.nonRetryable(error.message, error.code);
    throw error;
  }
}

/**
 * Takes an update with one input, or none. Any program may send it, so `parse` reads the input, and `check` may refuse the update too. What
 * is refused leaves no trace. Must run before the first await of the run.
 */
export const onUpdate = <Result, Input>(
  update: UpdateDefinition<Result, unknown[]>,
  parse: (given: unknown) => Input,
  act: (input: Input) => Result | Promise<Result>,
  check: () => void = () => undefined,
): void =>
  setHandler(update, (...given: unknown[]) => act(parse(given[0])), {
    validator(...given: unknown[]) {
      refuseBadInput(() => parse(given[0]));
      check();
    },
  });

/** Fails the run unless it has this id: one id means one run, so under any other id the same work would be done twice. */
export function requireWorkflowId(expected: string): void {
  refuseBadInput(() => {
    if (workflowInfo().workflowId !== expected) throw new InvalidInput(`workflow id: must be "${expected}"`);
  });
}

/** After so many events a run continues as new, unless tests say otherwise. The server warns at 10,240. */
export const defaultMaxEvents = 4_000;

/** Should the run continue as new, by its number of events or by the server's own hint? */
export function isHistoryLong(maxEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents;
}

/** Lets a promise run beside the main body, which cancels it at the end of the run. Any other failure fails the workflow task. */
export function runBeside(promise: Promise<void>): void {
  promise.catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
}

/** Waits for the first of several promises, which `start` makes; cancels what made the others. */
export async function firstOf<T>(start: () => Promise<T>[]): Promise<T> {
  const scope = new CancellationScope();
  return await scope.run(async () => {
    const first = await Promise.race(start());
    scope.cancel(); // no effect on what has ended
    return first;
  });
}

/** Runs `act`, but gives up on it, with undefined, when `interrupted` becomes true. */
export const unless = <T>(interrupted: () => boolean, act: () => Promise<T>): Promise<T | undefined> =>
  firstOf<T | undefined>(() => [act(), condition(interrupted).then(() => undefined)]);

/** A caller waits for the answer, so the run shows a call that takes longer than this. */
const patienceMs = 60_000;

/** Carries out `act`. When it takes long, `show` is called with the instant, and with null once it has ended. */
export async function whileLong<T>(show: (since: string | null) => void, act: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const since = new Date().toISOString();
  let isShown = false;
  runBeside(
    scope
      .run(() => sleep(patienceMs, { summary: 'Show it if it takes longer' }))
      .then(() => {
        isShown = true;
        show(since);
      }),
  );
  try {
    return await act();
  } finally {
    scope.cancel();
    if (isShown) show(null);
  }
}
