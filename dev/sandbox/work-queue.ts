// Removing the first element of a long array again and again would be slow.
const compactAfter = 10_000;

/** Works on items in their order, a limited number at a time. `work` must not reject. */
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
    /** Starts no more work. */
    close(): void {
      isClosed = true;
      queue = [];
      next = 0;
    },
  };
}
