export interface ClosedLoop {
  /** How many times at most. */
  count: number;
  inFlight: number;
  /** Nothing new begins after so long. */
  limitMs: number;
}

/** Does `one` `count` times, `inFlight` at a time: the next begins when one ends. Returns what they returned. */
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
