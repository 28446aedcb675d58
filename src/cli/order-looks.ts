import { setTimeout as sleep } from 'node:timers/promises';
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import type { Session } from './command-context.js';
import { getOrderRun, type OrderRun, readTrail } from './order-run.js';
import { lookEveryMs, unlessTransient } from './watching.js';

/** The run after something happened in it, or why it cannot be seen now. */
export type OrderLook = { run: OrderRun } | { trouble: 'noWorker' | 'noTemporal' };

const askAgainMs = 5_000;

/** Looks at the run of an order until it has ended. Throws `CliFailure` NotFollowed, and the reason of `signal`. */
export async function* looksAt(
  session: Session,
  key: FollowOrderKey,
  { signal }: { signal: AbortSignal },
): AsyncGenerator<OrderLook> {
  let version: string | undefined;
  let askFrom = 0;
  for (;;) {
    const outline = await unlessTransient(() => getOrderRun(session, key));
    if (outline === undefined) {
      yield { trouble: 'noTemporal' };
    } else if (!outline.isOpen || (outline.version !== version && Date.now() >= askFrom)) {
      const run = await unlessTransient(() => readTrail(session, key, outline));
      const isAnswered = run !== undefined && (run.trail !== null || !run.isOpen);
      if (isAnswered) {
        version = outline.version;
        yield { run };
        if (!run.isOpen) return;
      } else {
        askFrom = Date.now() + askAgainMs;
        signal.throwIfAborted();
        yield { trouble: run === undefined ? 'noTemporal' : 'noWorker' };
      }
    }
    await sleep(lookEveryMs, undefined, { signal });
  }
}
