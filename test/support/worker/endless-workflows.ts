import { condition, sleep } from '@temporalio/workflow';

/** Never lets another run have its turn. */
export async function endless(beginsAfterMs: number): Promise<void> {
  if (beginsAfterMs > 0) await sleep(beginsAfterMs);
  for (;;);
}

/** Ends after a timer. */
export async function brief(): Promise<string> {
  await sleep(1);
  return 'ended';
}

/** Waits for ever. */
export const waiting = (): Promise<void> => condition(() => false);
