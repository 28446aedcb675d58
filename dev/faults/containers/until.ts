import { setTimeout as pause } from 'node:timers/promises';

const everyMs = 250;
const withinMs = 180_000;

/** Waits until `isTrue` is. While things restart, asking may fail. Throws an Error with `otherwise` after three minutes. */
export async function until(otherwise: string, isTrue: () => Promise<boolean>, limitMs = withinMs): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const answer = await isTrue().catch((error: Error) => error);
    if (answer === true) return;
    if (Date.now() > deadline) throw new Error(otherwise, answer instanceof Error ? { cause: answer } : {});
    await pause(everyMs);
  }
}
