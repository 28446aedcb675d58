export interface ClosedLoop {
  /** The most times. */
  count: number;
  inFlight: number;
  /** The loop starts nothing more after so long. */
  limitMs: number;
}

/** Calls `one` `count` times, `inFlight` at a time, the next when one ends. Returns their results. */
export async function closedLoop<T>(loop: ClosedLoop, one: (index: number) => Promise<T>): Promise<T[]> {
  const deadline = Date.now() + loop.limitMs;
  const done: T[] = [];
  let next = 0;
  async function lane(): Promise<void> {
    while (next < loop.count && Date.now() < deadline) {
      const index = next;
      next += 1;
      done.push(await one(index));
    }
  }
  await Promise.all(Array.from({ length: loop.inFlight }, lane));
  return done;
}
