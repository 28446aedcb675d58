import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { TokenLeases } from '../activities/token-source.js';
import { publishedLease } from '../domain/published.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';
import type { accessToken } from '../workflows/access-token.js';
import { type RenewTokenRequest, renewTokenSignal } from '../workflows/messages.js';

/** Temporal's client has no deadline of its own: a lost answer must not hold up all calls of an account. */
const defaultDeadlineMs = 5_000;

/** The fleet's token leases: `accessToken` workflows on `taskQueue`, read by their memo. */
export function createTokenLeases(client: Client, taskQueue: string, deadlineMs = defaultDeadlineMs): TokenLeases {
  const inTime = <T>(call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + deadlineMs, call);
  return {
    async read(key) {
      try {
        const { memo } = await inTime(() => client.workflow.getHandle(accessTokenId(key)).describe());
        return publishedLease(memo);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },
    async renew(key, wish) {
      await inTime(() =>
        client.workflow.signalWithStart<typeof accessToken, [RenewTokenRequest]>('accessToken', {
          workflowId: accessTokenId(key),
          taskQueue,
          args: [key],
          signal: renewTokenSignal,
          signalArgs: [wish],
          staticSummary: summaryOf(key),
        }),
      );
    },
  };
}

const summaryOf = ({ account, scope }: AccessTokenKey): string =>
  `Access token of account ${account}, ${scope === '' ? 'without scope' : `scope ${scope}`}`;
