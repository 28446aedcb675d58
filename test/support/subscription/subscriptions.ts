import { randomBytes, randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import type { SubscriptionInput } from '../../../src/domain/subscription/input.js';
import type { SubscriptionStatus } from '../../../src/domain/subscription/status.js';
import type { AcceptedGeneration, EventType, SubscriptionMemo } from '../../../src/domain/subscription/subscription.js';
import { subscriptionId } from '../../../src/domain/workflow-ids.js';
import type { SubscriptionProgress, subscription } from '../../../src/workflows/subscription/subscription.js';
import type { WorkerEnv } from '../accounts.js';
import { jsonFile } from '../json-file.js';
import type { Place } from '../order/stack.js';
import { patient } from '../patience.js';

/** One subscription under test. */
export type SubscriptionRun = Awaited<ReturnType<typeof subscribe>>;

/** What a worker needs to subscribe. `managing`: the contract profile lets it list and delete subscribers. */
export function webhookEnv({ managing = false } = {}): WorkerEnv {
  const key = `w1:${randomBytes(32).toString('base64url')}`;
  const operations = { listSubscribers: { enabled: true }, deleteSubscriber: { enabled: true } };
  return { FARETRAIL_WEBHOOK_KEYS: key, ...(managing ? { FARETRAIL_CONTRACT_FILE: jsonFile({ operations }) } : {}) };
}

/** Starts a subscription under an id of its own, so that many share an account. */
export async function subscribe(
  { client, config }: Place,
  more: Partial<SubscriptionInput> = {},
  progress?: SubscriptionProgress,
  own = `/${randomUUID()}`,
) {
  const eventType: EventType = more.eventType ?? 'business_report';
  const key = { account: more.account ?? toAccountName('business'), eventType };
  const input: SubscriptionInput = { ...key, publicUrl: 'http://127.0.0.1:9/base', ...more };
  const handle = await client.workflow.start<typeof subscription>('subscription', {
    workflowId: `${subscriptionId(key)}${own}`,
    taskQueue: config.taskQueue,
    args: progress ? [input, progress] : [input],
  });
  const describe = () => client.workflow.getHandle(handle.workflowId).describe();
  const status = () => client.workflow.getHandle(handle.workflowId).query<SubscriptionStatus, []>('subscriptionStatus');
  return {
    handle,
    status,
    /** What the ingress would accept, from the memo. */
    accepted: async (): Promise<AcceptedGeneration[]> =>
      ((await describe()).memo?.subscription as SubscriptionMemo | undefined)?.accepted ?? [],
    /** Resolves once an address is in force. */
    async active(): Promise<SubscriptionStatus> {
      await vi.waitFor(async () => expect((await status()).state).toBe('active'), patient);
      return await status();
    },
    /** Resolves once the run shows this attention; undefined: none. */
    async shows(attention: string | undefined): Promise<void> {
      const shown = async () => (await describe()).searchAttributes.RideAttention?.[0] ?? undefined;
      await vi.waitFor(async () => expect(await shown()).toBe(attention), patient);
    },
  };
}
