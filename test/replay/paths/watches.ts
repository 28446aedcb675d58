import { toAccountName } from '../../../src/domain/keys.js';
import { accountWatchId } from '../../../src/domain/workflow-ids.js';
import type { accountWatch } from '../../../src/workflows/account-watch.js';
import { watchToldSignal } from '../../../src/workflows/messages.js';
import type { OrderStack } from '../../support/order/stack.js';
import { cancelled, completed, type Paths } from './path.js';

function startWatch({ client, config: { taskQueue } }: OrderStack, name: string) {
  const account = toAccountName(name);
  const workflowId = accountWatchId(account, taskQueue);
  const options = { workflowId, taskQueue, args: [{ account }] as [{ account: typeof account }] };
  return client.workflow.start<typeof accountWatch>('accountWatch', {
    ...options,
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** How soon a watch without orders ends here. */
export const shortWatch = { idle: 500, lists: [300] };

/** Every way through the `accountWatch` workflow, by name. */
export const watchPaths: Paths = {
  'watch-without-orders': async (stack) => await completed(startWatch(stack, 'partner')),
  async 'watch-told-and-cancelled'(stack) {
    const handle = await startWatch(stack, 'held-by-nobody');
    const attention = { code: 'upstreamUnavailable', message: 'away', since: new Date().toISOString() } as const;
    for (const shown of [attention, null])
      await handle.signal(watchToldSignal, { worker: 'worker', orders: 7, attention: shown });
    return await cancelled(handle);
  },
};
