export type WorkQueue<T> = ReturnType<typeof createWorkQueue<T>>;

// Taking the first element out of a long array each time would be slow.
const compactAfter = 10_000;

/** Works on items in the order in which they come, so many at a time. `work` must not reject. */
export function createWorkQueue<T>(work: (item: T) => Promise<void>, limit: () => number) {
  let queue: T[] = [];
  let next = 0;
  let running = 0;
  let isClosed = false;

  function pump(): void {
    while (running < limit() && next < queue.length && !isClosed) {
      const item = queue[next] as T;
      next += 1;
      running += 1;
      void work(item).then(() => {
        running -= 1;
        pump();
      });
    }
    if (next < queue.length && next < compactAfter) return;
    queue = queue.slice(next);
    next = 0;
  }

  return {
    add(item: T): void {
      queue.push(item);
      pump();
    },
    /** Nothing is begun any more. */
    close(): void {
      isClosed = true;
      queue = [];
      next = 0;
    },
  };
}
