import type { QueryDefinition, SignalDefinition, UpdateDefinition, Workflow } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  type ContinueAsNewOptions,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  patched,
  setHandler as setSdkHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { longCallMs } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import type { Described } from './messages.js';

/** Runs a parser and turns `InvalidInput` into the failure of that type, which ends the run or refuses the update. */
export function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw ApplicationFailure.nonRetryable(error.message, error.code);
    throw error;
  }
}

/** Registers a signal or a query with its description. Must run before the first await of the run. */
export function setHandler<Answer, Args extends unknown[]>(
  message: (SignalDefinition<Args> | QueryDefinition<Answer, Args>) & Described,
  handler: (...args: Args) => Answer,
): void {
  const { description } = message;
  if (message.type === 'query') setSdkHandler(message, handler, { description });
  else setSdkHandler(message, (...args: Args) => void handler(...args), { description });
}

/**
 * Registers an update with at most one input. `parse` reads the input, and `check` may also refuse the update. A
 * refused update leaves no event. Where the run is cancelled first, the update fails with `Cancelled`. Must run before
 * the first await of the run.
 */
export const onUpdate = <Result, Input>(
  update: UpdateDefinition<Result, unknown[]> & Described,
  parse: (given: unknown) => Input,
  act: (input: Input) => Result | Promise<Result>,
  check: () => void = () => undefined,
): void => {
  async function answer(...given: unknown[]): Promise<Result> {
    try {
      return await act(parse(given[0]));
    } catch (error) {
      if (!isCancellation(error)) throw error;
      throw ApplicationFailure.nonRetryable('The run was cancelled before it could answer.', 'Cancelled');
    }
  }
  setSdkHandler(update, answer, {
    description: update.description,
    validator(...given: unknown[]) {
      refuseBadInput(() => parse(given[0]));
      check();
    },
  });
};

/** Fails the run unless it has this id: a run with another id would do the same work twice. */
export function requireWorkflowId(expected: string): void {
  refuseBadInput(() => {
    if (workflowInfo().workflowId !== expected) throw new InvalidInput(`workflow id: must be "${expected}"`);
  });
}

/**
 * A run continues as new after so many events; tests set fewer. A worker that takes over the runs of another one replays up to 40 of
 * them side by side, about 0.4 ms for each event, and Temporal takes a task away after ten seconds.
 */
export const defaultMaxEvents = 500;

/**
 * Is the run pinned to a version of the workers on which new runs no longer begin? Temporal records the answer with
 * each task, also in runs of 0.2.0, which stayed. Always false without versions, and for a run that moves with its next
 * task.
 */
export const isOnOldVersion = (): boolean =>
  workflowInfo().targetWorkerDeploymentVersionChanged && patched('leave-old-version');

/** Should the run continue as new: by its number of events, by the server's hint, or to leave an old version? */
export function isTimeToContinue(maxEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || isOnOldVersion() || historyLength >= maxEvents;
}

/**
 * Continues the run as new, on the version on which new runs begin. Without the option Temporal would conclude that
 * the run declines that version, and not offer it again. Unversioned workers must not give the option.
 */
export function continueRun<Run extends Workflow>(
  args: Parameters<Run>,
  memo?: Record<string, unknown>,
): Promise<never> {
  const options: ContinueAsNewOptions = memo === undefined ? {} : { memo };
  if (isVersioned()) options.initialVersioningBehavior = 'AUTO_UPGRADE';
  return makeContinueAsNewFunc<Run>(options)(...args);
}

/** Is the worker that does this task versioned? */
export const isVersioned = (): boolean => Boolean(workflowInfo().currentDeploymentVersion?.deploymentName);

/** Lets a promise run beside the main body. Its cancellation is ignored, and any other failure fails the workflow task. */
export function runBeside(promise: Promise<void>): void {
  promise.catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
}

/** The answer of an activity, or what `otherwise` makes of its failure. Throws any other error, a cancellation too. */
export const whenFailed = <T>(
  activity: Promise<T>,
  otherwise: (failure: ActivityFailure) => T | Promise<T>,
): Promise<T> =>
  activity.catch((error: unknown) => {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return otherwise(error);
  });

/** The failure of the last attempt; undefined if none ended. After a time-out the SDK no longer knows it (1.24). */
export const lastFailure = ({ cause }: ActivityFailure): ApplicationFailure | undefined =>
  cause instanceof ApplicationFailure ? cause : undefined;

/** Waits for the first of the promises that `start` makes, and cancels the others. */
export async function firstOf<T>(start: () => Promise<T>[]): Promise<T> {
  const scope = new CancellationScope();
  return await scope.run(async () => {
    const first = await Promise.race(start());
    scope.cancel(); // no effect on what has ended
    return first;
  });
}

/** Runs `act`. Cancels it and returns undefined if `interrupted` becomes true first. */
export const unless = <T>(interrupted: () => boolean, act: () => Promise<T>): Promise<T | undefined> =>
  firstOf<T | undefined>(() => [act(), condition(interrupted).then(() => undefined)]);

/** Runs `act`. If it takes long, calls `show` with the instant of its start, and with null at its end. */
export async function whileLong<T>(show: (since: string | null) => void, act: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const since = new Date().toISOString();
  let isShown = false;
  runBeside(
    scope
      .run(() => sleep(longCallMs, { summary: 'Show it if it takes longer' }))
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
