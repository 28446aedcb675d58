// Replaces `@temporalio/activity`.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Info } from '@temporalio/activity';

export { CompleteAsyncError } from '@temporalio/common';

/** A running attempt of an activity. */
export interface Attempt {
  info: Info;
  heartbeat(details: unknown): void;
  /** Sends the last details, as the SDK does before it reports a failure. */
  flush(): void;
  controller: AbortController;
  /** The reasons for its cancellation. */
  details: Record<string, boolean> | undefined;
}

export const attempts = new AsyncLocalStorage<Attempt>();

function current(): Attempt {
  const attempt = attempts.getStore();
  if (!attempt) throw new Error('not within an activity');
  return attempt;
}

export const activityInfo = (): Info => current().info;
export const heartbeat = (details?: unknown): void => current().heartbeat(details);
export const cancellationSignal = (): AbortSignal => current().controller.signal;
/** Nothing reads the log of a course. */
export const log = { warn: (): void => undefined };
export const cancellationDetails = () => current().details;
/** Only `cancelled` is used. */
export const Context = {
  current: () => {
    const { controller } = current();
    const { signal } = controller;
    const cancelled = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    cancelled.catch(() => undefined);
    return { cancelled };
  },
};
