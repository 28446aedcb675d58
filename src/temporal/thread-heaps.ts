/** The heap of one thread. `--max-old-space-size` holds for each thread alone. */
export interface ThreadHeap {
  /** 0: the main thread. */
  threadId: number;
  usedBytes: number;
  /** Node ends the process, or the thread, that needs more. */
  limitBytes: number;
}

interface HeapReport {
  header: { threadId: number | null };
  javascriptHeap: { usedMemory: number; memoryLimit: number };
  workers?: HeapReport[];
}

/**
 * The heap of each thread of this process, the main thread first; workflows run in others. In Node 20 only the diagnostic report tells
 * about other threads. It takes 12 ms of processor time, and the main thread waits for it.
 */
export function threadHeaps(): ThreadHeap[] {
  // Otherwise the report looks up the names of all connected addresses. The types of Node 20 do not know the option.
  Object.assign(process.report ?? {}, { excludeNetwork: true });
  const main = process.report?.getReport() as unknown as HeapReport;
  return [main, ...(main.workers ?? [])].map(({ header, javascriptHeap: { usedMemory, memoryLimit } }) => ({
    threadId: header.threadId ?? 0,
    usedBytes: usedMemory,
    limitBytes: memoryLimit,
  }));
}
