import { CancellationScope, condition } from '@temporalio/workflow';

/** Runs `act`, but gives up on it, with undefined, when `interrupted` becomes true. */
export async function unless<T>(interrupted: () => boolean, act: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  return await scope.run(async () => {
    const first = await Promise.race([act(), condition(interrupted).then(() => undefined)]);
    scope.cancel(); // ends what lost the race; no effect on what has ended
    return first;
  });
}
