import { setTimeout as sleep } from 'node:timers/promises';

interface Patience {
  /** Default: three minutes. */
  withinMs?: number;
  /** Default: 250. */
  everyMs?: number;
}

/** Waits until `isTrue` is. While things restart, asking may fail. Throws an Error with `otherwise` when the time is over. */
export async function until(
  otherwise: string,
  isTrue: () => boolean | Promise<boolean>,
  { withinMs = 180_000, everyMs = 250 }: Patience = {},
): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await (async () => isTrue())().catch((error: Error) => error);
    if (answer === true) return;
    if (Date.now() > deadline) throw new Error(otherwise, answer instanceof Error ? { cause: answer } : {});
    await sleep(everyMs);
  }
}

/** Does something answer here with 2xx? */
export const answersAt = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
