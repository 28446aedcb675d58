import type { Client } from '@temporalio/client';
import type { TokenLeases } from '../activities/token.js';
import { deadlineIn } from '../clock.js';
import { publishedLease, type RenewalRequest } from '../domain/token-lease.js';
import { accessTokenId } from '../domain/workflow-ids.js';
import type { accessToken } from '../workflows/access-token.js';
import { renewTokenSignal } from '../workflows/messages.js';
import { runOf } from './runs.js';
import { priorityOf } from './starts.js';

/** Short, since every call of an account waits for the lease. */
const defaultDeadlineMs = 5_000;

/** The fleet's token leases: `accessToken` workflows on `taskQueue`, read by their memo. */
export function createTokenLeases(client: Client, taskQueue: string, deadlineMs = defaultDeadlineMs): TokenLeases {
  return {
    async read(key) {
      const found = await runOf(client, accessTokenId(key)).find({ withinMs: deadlineMs });
      return found ? publishedLease(found.memo) : null;
    },
    async renew(key, insteadOf) {
      await client.withDeadline(deadlineIn(deadlineMs), () =>
        client.workflow.signalWithStart<typeof accessToken, [RenewalRequest]>('accessToken', {
          workflowId: accessTokenId(key),
          taskQueue,
          args: [key],
          signal: renewTokenSignal,
          signalArgs: [{ insteadOf }],
          // A worker that takes over thousands of runs does the tasks of leases before theirs.
          priority: { ...priorityOf(key.account), priorityKey: 1 },
          staticSummary: `Access token of account ${key.account}, ${key.scope === '' ? 'without scope' : `scope ${key.scope}`}`,
        }),
      );
    },
  };
}
