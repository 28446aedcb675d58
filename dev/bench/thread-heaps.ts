/** The old generation of the heap of one thread, in bytes: whatever lives longer than a moment. */
export interface ThreadHeap {
  /** 0: the main thread. */
  threadId: number;
  usedBytes: number;
  /** `--max-old-space-size`, which holds for each thread alone. Node ends the process, or the thread, that needs more. */
  limitBytes: number;
}

interface HeapReport {
  header: { threadId: number | null };
  javascriptHeap: { memoryLimit: number; heapSpaces: Record<string, { used: number }> };
  workers?: HeapReport[];
}

/** Node gives the limit of both generations only. The young one takes three semi-spaces of 16 MiB each, or less where a flag says so. */
const youngBytes = 48 * 1_048_576;

/**
 * The heap of each thread of this process, the main thread first; workflows run in others. In Node 20 only the diagnostic report tells
 * about other threads. It takes 12 ms of processor time, and the main thread waits for it.
 */
export function threadHeaps(): ThreadHeap[] {
  // Otherwise the report looks up the names of all connected addresses. The types of Node 20 do not know the option.
  Object.assign(process.report ?? {}, { excludeNetwork: true });
  const main = process.report?.getReport() as unknown as HeapReport;
  return [main, ...(main.workers ?? [])].map(({ header, javascriptHeap: { heapSpaces, memoryLimit } }) => ({
    threadId: header.threadId ?? 0,
    usedBytes: oldBytes(heapSpaces),
    limitBytes: memoryLimit - youngBytes,
  }));
}

const oldBytes = (spaces: Record<string, { used: number }>): number =>
  Object.entries(spaces).reduce((sum, [name, { used }]) => (name.startsWith('new_') ? sum : sum + used), 0);
