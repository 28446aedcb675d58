import type { UpdateDefinition } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { longCallMs } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';

/** Runs a parser and turns `InvalidInput` into the failure of that type, which ends the run or refuses the update. */
export function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw ApplicationFailure.nonRetryable(error.message, error.code);
    throw error;
  }
}

// No run ends or continues as new in a task that also cancels an activity or accepts an update. If any event arrives during a task with a
// command that closes the run, the server refuses the task (`UnhandledCommand`) and drops the updates that it has just delivered: the caller
// gets "unexpected workflow task failure", and the run knows nothing of the update (server 1.31.2; 12 of 12 beside signals). The answer of
// an activity that is being cancelled is the likeliest such event. So whatever cancels an activity, or answers an update in the task that
// brought it, starts a timer of 1 ms, and no run leaves before the task that this timer brings: by then the update is in the history.
// Histories of release 0.2.0 have no such timers.

/** How many waits for another task are under way in a run, by its outermost scope: all runs of a worker share these modules. */
const waitsOf = new WeakMap<CancellationScope, number>();

function thisRun(): CancellationScope {
  let scope = CancellationScope.current();
  while (scope.parent) scope = scope.parent;
  return scope;
}

/** Ask only where a timer is due: the answer adds an event. Without one nothing may be awaited, or promises settle in another order. */
const takesAnotherTask = (): boolean => patched('leaves-in-another-task');

async function anotherTask(): Promise<void> {
  const run = thisRun();
  waitsOf.set(run, (waitsOf.get(run) ?? 0) + 1);
  try {
    await CancellationScope.nonCancellable(() => sleep(1, { summary: 'Go on in another task' }));
  } finally {
    waitsOf.set(run, (waitsOf.get(run) ?? 1) - 1);
  }
}

/** May the run end or continue as new now? It has answered all updates, in earlier tasks than this one, and cancels nothing in this task. */
export const mayLeave = (): boolean => (waitsOf.get(thisRun()) ?? 0) === 0 && allHandlersFinished();

/** Lets a cancelled run answer its updates before it ends. */
export async function leaveCancelled(): Promise<void> {
  if (!takesAnotherTask()) return;
  await anotherTask(); // the cancellation of the run has cancelled its activities in this task
  await CancellationScope.nonCancellable(() => condition(mayLeave));
}

/**
 * Registers an update with at most one input. `parse` reads the input, and `check` may also refuse the update. A refused update leaves no
 * event. Must run before the first await of the run.
 */
export const onUpdate = <Result, Input>(
  update: UpdateDefinition<Result, unknown[]>,
  parse: (given: unknown) => Input,
  act: (input: Input) => Result | Promise<Result>,
  check: () => void = () => undefined,
): void => {
  const answer = async (...given: unknown[]): Promise<Result> => {
    const accepted = workflowInfo().historyLength;
    try {
      return await act(parse(given[0]));
    } catch (error) {
      if (!isCancellation(error)) throw error;
      throw ApplicationFailure.nonRetryable('The run was cancelled before it could answer.', 'Cancelled');
    } finally {
      if (workflowInfo().historyLength === accepted && takesAnotherTask()) await anotherTask();
    }
  };
  setHandler(update, answer, {
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

/** Should the run continue as new, by its number of events or by the server's own hint? */
export function isHistoryLong(maxEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents;
}

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

interface Race<T> {
  activity: Promise<T> | undefined;
  /** Timers and conditions. */
  others: Promise<T>[];
}

/** Waits for an activity or the first of some others, and cancels what is left. If that is the activity, the run goes on in its next task. */
export async function firstOf<T>(start: () => Race<T>): Promise<T> {
  const scope = new CancellationScope();
  let isPending = false;
  const [first, isLost] = await scope.run(async () => {
    const { activity, others } = start();
    isPending = activity !== undefined;
    const end = (): void => {
      isPending = false;
    };
    activity?.then(end, end);
    const one = await Promise.race(activity === undefined ? others : [activity, ...others]);
    const lost = isPending;
    scope.cancel(); // no effect on what has ended
    return [one, lost] as const;
  });
  if (isLost && takesAnotherTask()) await anotherTask();
  return first;
}

/** The answer of an activity. Cancels it and returns undefined if `interrupted` becomes true first. To wait for less use `condition`. */
export const unless = <T>(interrupted: () => boolean, activity: () => Promise<T>): Promise<T | undefined> =>
  firstOf<T | undefined>(() => ({ activity: activity(), others: [condition(interrupted).then(() => undefined)] }));

/** The answer of an activity that is cancelled once `interrupted`. The activity answers that, too: `WAIT_CANCELLATION_COMPLETED`. */
export function cancelOnce<T>(interrupted: () => boolean, activity: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  runBeside(condition(interrupted).then(() => scope.cancel()));
  return scope.run(activity);
}

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
