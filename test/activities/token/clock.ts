import { start } from '../temporal.js';

/** Time that moves only when a test says so. */
export interface Clock {
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Moves on, waking each sleeper at its own instant. */
  advance(ms: number): Promise<void>;
  /** Moves on for as long as `work` needs to settle. */
  until<T>(work: Promise<T>): Promise<T>;
}

/** Lets everything that waits for nothing but promises go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function createClock(): Clock {
  let at = start;
  let sleepers: { wakeAt: number; wake: () => void }[] = [];

  async function moveTo(instant: number): Promise<void> {
    at = Math.max(at, instant);
    const due = sleepers.filter(({ wakeAt }) => wakeAt <= at);
    sleepers = sleepers.filter(({ wakeAt }) => wakeAt > at);
    for (const { wake } of due) wake();
    await settle();
  }
  const nextWake = (): number =>
    sleepers.reduce((least, { wakeAt }) => Math.min(least, wakeAt), Number.POSITIVE_INFINITY);

  return {
    now: () => at,
    sleep: (ms) => new Promise((wake) => sleepers.push({ wakeAt: at + ms, wake })),
    async advance(ms) {
      const end = at + ms;
      await settle();
      while (nextWake() <= end) await moveTo(nextWake());
      await moveTo(end);
    },
    async until(work) {
      let isSettled = false;
      const mark = (): void => {
        isSettled = true;
      };
      work.then(mark, mark);
      await settle();
      while (!isSettled) {
        if (nextWake() === Number.POSITIVE_INFINITY) throw new Error('waits for something that never comes');
        await moveTo(nextWake());
      }
      return await work;
    },
  };
}
