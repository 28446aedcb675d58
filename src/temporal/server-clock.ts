import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { deadlineIn, monotonicMs, wallMs } from '../clock.js';
import { msOf } from './runs.js';
import { describeQueue } from './watches.js';

/** A clock elsewhere, compared with that of this machine. */
export interface ClockDifference {
  /** How far it is ahead of ours, in milliseconds; negative: behind. */
  aheadMs: number;
  /** Both directions; the duration of the calls. */
  uncertaintyMs: number;
}

/** Compares what another clock showed between two moments. */
export const clockDifference = (shownMs: number, before: number, after: number): ClockDifference => ({
  aheadMs: shownMs - (before + after) / 2,
  uncertaintyMs: (after - before) / 2,
});

/** No task is ever sent to it. */
const queue = 'faretrail-clock';
const withinMs = 5_000;
const lookEveryMs = 50;

/**
 * Compares Temporal's clock with ours. No call answers with the server's time, but the server notes when a poller came,
 * so this polls a task queue without tasks for a moment. Rejects when the server does not answer or allow that.
 */
export async function compareTemporalClock(client: Client): Promise<ClockDifference> {
  const identity = `clock ${randomUUID()}`;
  const { namespace } = client.options;
  const stop = new AbortController();
  const before = wallMs();
  const polling = client.withDeadline(deadlineIn(2 * withinMs), () =>
    client.withAbortSignal(stop.signal, () =>
      client.workflowService.pollActivityTaskQueue({ namespace, identity, taskQueue: { name: queue } }),
    ),
  );
  const refused = new Promise<never>((_, reject) => polling.catch(reject));
  try {
    const until = monotonicMs() + withinMs;
    while (monotonicMs() < until) {
      const { pollers } = await Promise.race([refused, describeQueue(client, queue, 'activities')]);
      const after = wallMs();
      const own = pollers.find((one) => one.identity === identity);
      if (own?.lastAccessTime) return clockDifference(msOf(own.lastAccessTime), before, after);
      await pause(lookEveryMs);
    }
    throw new Error('the server did not note our poll in time');
  } finally {
    stop.abort();
  }
}
