// A cheap substitute for the watch of an account, with a hundredth of its timers. It reads the state of the service and
// of the runs directly, so it sends no polls. It tells the run of a change within two minutes.
import { setTimeout as pause } from 'node:timers/promises';
import { CompleteAsyncError, Context, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { AccountName, OrderId } from '../../../src/domain/keys.js';
import { endStatuses, isSameStatus } from '../../../src/domain/order/status.js';
import { searchAttributeNames } from '../../../src/domain/search-attribute-names.js';
import { type AccountWatchInput, type NextFinding, nextReadingId, type WatchEnd } from '../../../src/domain/watch.js';
import { followOrderId, fromFollowOrderId } from '../../../src/domain/workflow-ids.js';
import type { Namespace } from '../server/namespace.js';
import type { ActivityFunctions } from '../worker/worker.js';

export interface WatchModelParts {
  namespace: Namespace;
  client: Client;
  /** The status of an order at the service. */
  statusOf: (account: AccountName, orderId: OrderId) => string | undefined;
  /** Starts to take orders that runs hand over. Returns a function that ends this. */
  serve: (account: AccountName) => () => void;
}

/** Just above the SDK's pause between two heartbeats, so that each is sent at once. */
const heartbeatEveryMs = 25_000;
const turnsPerLook = 4;

function findingOf(status: string, comparedWith: string): NextFinding {
  const terminal = endStatuses.some((end) => isSameStatus(end, status));
  const reading = { status, rawStatus: status, terminal, details: null, concern: null };
  return { kind: 'reading', reading, at: new Date().toISOString(), reads: 0, comparedWith, unchangedAt: null };
}

export function createWatchModel({ namespace, client, statusOf, serve }: WatchModelParts): ActivityFunctions {
  const openRuns = (account: AccountName) =>
    namespace.all().flatMap((run) => {
      const key = run.isOpen && run.type === 'followOrder' ? fromFollowOrderId(run.workflowId) : undefined;
      return key?.account === account ? [{ ...key, run }] : [];
    });
  const tell = async (account: AccountName): Promise<number> => {
    const live = openRuns(account);
    for (const { orderId, run } of live) {
      const shown = run.searchAttributes[searchAttributeNames.status]?.data;
      const actual = statusOf(account, orderId);
      if (!shown || actual === undefined) continue;
      const shownStatus: string = JSON.parse(Buffer.from(shown).toString());
      if (isSameStatus(shownStatus, actual)) continue;
      const workflowId = followOrderId({ account, orderId });
      // A run that has no pending read just now is told at the next look.
      await client.activity
        .complete({ workflowId, activityId: nextReadingId }, findingOf(actual, shownStatus))
        .catch(() => undefined);
    }
    return live.length;
  };
  return {
    async watchOrders({ account }: AccountWatchInput): Promise<WatchEnd> {
      const stop = serve(account);
      try {
        for (let turn = 0; ; turn += 1) {
          heartbeat({ orders: 0, lateMs: 0, since: '' });
          if (cancellationSignal().aborted) await Context.current().cancelled;
          if (turn % turnsPerLook === 0 && (await tell(account)) === 0 && turn > 0) return 'idle';
          await pause(heartbeatEveryMs);
        }
      } finally {
        stop();
      }
    },
    async nextReading(): Promise<NextFinding> {
      throw new CompleteAsyncError();
    },
    async watchOrder(): Promise<void> {},
  };
}
