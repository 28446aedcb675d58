import { Session } from 'node:inspector/promises';

const method = 'HeapProfiler.collectGarbage';

/** Collects the garbage of all threads of this process, also of those in which the SDK runs workflows, as a debugger would. */
export async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  const threads: string[] = [];
  session.on('NodeWorker.attachedToWorker', ({ params }) => threads.push(params.sessionId));
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  await session.post(method);
  for (const sessionId of threads) {
    const collected = new Promise((resolve) => session.once('NodeWorker.receivedMessageFromWorker', resolve));
    await session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id: 1, method }) });
    await collected;
  }
  session.disconnect();
}
