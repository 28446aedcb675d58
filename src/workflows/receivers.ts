import { getExternalWorkflowHandle, isCancellation, log } from '@temporalio/workflow';
import type { SignalReceiver } from '../domain/notify.js';

/** Tells one receiver. One that has ended is named in `undelivered` and stops nobody. Throws only when it is cancelled. */
export async function tellReceiver(
  { workflowId, signal }: SignalReceiver,
  notice: unknown,
  undelivered: string[],
): Promise<void> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(signal, notice);
  } catch (error) {
    if (isCancellation(error)) throw error;
    const line = `${workflowId} by signal ${signal}: no such running workflow`;
    if (!undelivered.includes(line)) undelivered.push(line);
    log.warn('notify failed', { workflowId, signal });
  }
}
