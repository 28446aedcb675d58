import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { toAccountName } from '../../../src/domain/keys.js';
import { eventTypes } from '../../../src/domain/subscription/subscription.js';
import { subscriptionId } from '../../../src/domain/workflow-ids.js';
import { subscriptionStatusQuery } from '../../../src/workflows/messages.js';
import type { subscription } from '../../../src/workflows/subscription/subscription.js';

const account = toAccountName('business');
const limitMs = 20_000;
const lookEveryMs = 200;

/** Subscribes the sandboxed account to all event types, and waits until the subscriptions are in place. */
export async function subscribeToAll(
  client: Client,
  { taskQueue, publicUrl }: { taskQueue: string; publicUrl: string },
) {
  await Promise.all(
    eventTypes.map(async (eventType) => {
      const key = { account, eventType };
      const handle = await client.workflow.start<typeof subscription>('subscription', {
        workflowId: subscriptionId(key),
        taskQueue,
        args: [{ ...key, publicUrl }],
        staticSummary: `Deliveries of ${eventType} to account ${account}`,
        // A sandbox loses its subscribers when it stops, so the run of an earlier stack keeps a subscription that is gone.
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      });
      const deadline = Date.now() + limitMs;
      while ((await handle.query(subscriptionStatusQuery)).state !== 'active' && Date.now() < deadline) {
        await sleep(lookEveryMs);
      }
    }),
  );
}
