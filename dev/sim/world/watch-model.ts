// A cheap substitute for the watch of an account, with a hundredth of its timers. It reads the state of the service and
// of the runs directly, so it sends no polls. It signals a change within two minutes.
import { setTimeout as pause } from 'node:timers/promises';
import { Context, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { AccountName, OrderId } from '../../../src/domain/keys.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import { searchAttributeNames } from '../../../src/domain/search-attribute-names.js';
import type { AccountWatchInput, WatchEnd } from '../../../src/domain/watch.js';
import { followOrderId, fromFollowOrderId } from '../../../src/domain/workflow-ids.js';
import { changeSeenSignal } from '../../../src/workflows/messages.js';
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

export function createWatchModel({ namespace, client, statusOf, serve }: WatchModelParts): ActivityFunctions {
  const openRuns = (account: AccountName) =>
    namespace.all().flatMap((run) => {
      const key = run.isOpen && run.type === 'followOrder' ? fromFollowOrderId(run.workflowId) : undefined;
      return key?.account === account ? [{ ...key, run }] : [];
    });
  const hint = async (account: AccountName): Promise<number> => {
    const live = openRuns(account);
    for (const { orderId, run } of live) {
      const shown = run.searchAttributes[searchAttributeNames.status]?.data;
      const actual = statusOf(account, orderId);
      if (!shown || actual === undefined || isSameStatus(JSON.parse(Buffer.from(shown).toString()), actual)) continue;
      const handle = client.workflow.getHandle(followOrderId({ account, orderId }));
      await handle.signal(changeSeenSignal, { streak: null, unchangedAt: null }).catch(() => undefined);
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
          if (turn % turnsPerLook === 0 && (await hint(account)) === 0 && turn > 0) return 'idle';
          await pause(heartbeatEveryMs);
        }
      } finally {
        stop();
      }
    },
    async watchOrder(): Promise<void> {},
  };
}
