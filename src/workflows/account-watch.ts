import { proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { WatchActivities } from '../activities/watch/watching.js';
import {
  type AccountWatchInput,
  describeWatch,
  parseAccountWatchInput,
  readWatchTold,
  type WatchOrdersInput,
  type WatchStatus,
} from '../domain/watch.js';
import { fromAccountWatchId } from '../domain/workflow-ids.js';
import { accountQueue, promptRetry } from './activity-options.js';
import { watchStatusQuery, watchToldSignal } from './messages.js';
import {
  continueRun,
  defaultMaxEvents,
  isTimeToContinue,
  refuseBadInput,
  requireWorkflowId,
  setHandler,
} from './run-kit.js';
import { writeAccount, writeAttention } from './search-attributes.js';

/**
 * The watch of an account: one worker polls all live orders of the account within the one long activity of this run, which writes no
 * history. The run ends when no order is left, and the first read of the next order starts another one. Fails with `InvalidInput` only.
 */
export async function accountWatch(rawInput: AccountWatchInput, before?: WatchStatus): Promise<WatchStatus> {
  const input = refuseBadInput(() => parseAccountWatchInput(rawInput));
  const { account } = input;
  const { workflowId, originalExecutionRunId } = workflowInfo();
  // A replay runs on a task queue of its own, so only the account can be checked.
  requireWorkflowId(fromAccountWatchId(workflowId)?.account === account ? workflowId : `watch/${account}`);
  const isContinued = workflowInfo().continuedFromExecutionRunId !== undefined;
  let status: WatchStatus = (isContinued && before) || {
    account,
    worker: null,
    since: null,
    orders: 0,
    attention: null,
  };
  const show = (): void => {
    setCurrentDetails(describeWatch(status));
    writeAttention(status.attention);
  };
  setHandler(watchStatusQuery, () => status);
  setHandler(watchToldSignal, (given) => {
    const told = readWatchTold(given);
    if (told) status = { account, since: new Date().toISOString(), ...told };
    show();
  });
  writeAccount(account);
  show();
  const { watchOrders } = proxyActivities<WatchActivities>({
    taskQueue: accountQueue(account),
    startToCloseTimeout: '1 day', // the worker gives it back after half a day
    heartbeatTimeout: 30_000,
    retry: promptRetry,
    priority: { priorityKey: 1 },
    summary: 'Poll all live orders of the account',
  });
  // A run continues as new only after a process has given the watch back.
  const watched: WatchOrdersInput = isContinued ? { account, renewedAs: originalExecutionRunId } : { account };
  if ((await watchOrders(watched)) === 'idle' && !isTimeToContinue(defaultMaxEvents)) return { ...status, orders: 0 };
  return await continueRun<typeof accountWatch>([input, status]);
}
