import { ApplicationFailure, CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';
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

/** Runs `act`, but gives up on it, with undefined, when `interrupted` becomes true. */
export async function unless<T>(interrupted: () => boolean, act: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  return await scope.run(async () => {
    const first = await Promise.race([act(), condition(interrupted).then(() => undefined)]);
    scope.cancel(); // ends what lost the race; no effect on what has ended
    return first;
  });
}

/** Somebody waits for the answer: what takes longer than this shows. */
const patienceMs = 60_000;

/** Carries out `act`. When it takes long, `show` is called with the instant, and with null once it has ended. */
export async function whileLong<T>(show: (since: string | null) => void, act: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const since = new Date().toISOString();
  let isShown = false;
  scope
    .run(() => sleep(patienceMs, { summary: 'Show it if it takes longer' }))
    .then(() => {
      isShown = true;
      show(since);
    })
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  try {
    return await act();
  } finally {
    scope.cancel();
    if (isShown) show(null);
  }
}
