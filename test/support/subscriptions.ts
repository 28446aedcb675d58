import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { expect } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import type { AcceptedGeneration, EventType, SubscriptionMemo } from '../../src/domain/subscription.js';
import type { SubscriptionInput } from '../../src/domain/subscription-input.js';
import type { SubscriptionStatus } from '../../src/domain/subscription-status.js';
import { subscriptionId } from '../../src/domain/workflow-ids.js';
import type { SubscriptionProgress, subscription } from '../../src/workflows/subscription.js';
import type { WorkerEnv } from './accounts.js';
import type { OrderStack } from './order-stack.js';

/** One subscription under test. */
export interface SubscriptionRun {
  handle: WorkflowHandleWithFirstExecutionRunId<typeof subscription>;
  /** What the ingress would accept, from the memo. */
  accepted(): Promise<AcceptedGeneration[]>;
  status(): Promise<SubscriptionStatus>;
  /** Resolves once an address is in force. */
  active(): Promise<SubscriptionStatus>;
  /** Resolves once the run shows this attention; undefined: none. */
  shows(attention: string | undefined): Promise<void>;
}

const patient = { timeout: 30_000 };

/** What a worker needs to subscribe. `managing`: the contract profile lets it list and delete subscribers. */
export function webhookEnv({ managing = false } = {}): WorkerEnv {
  const key = `w1:${randomBytes(32).toString('base64url')}`;
  return { FARETRAIL_WEBHOOK_KEYS: key, ...(managing ? { FARETRAIL_CONTRACT_FILE: managingProfile() } : {}) };
}

function managingProfile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-test-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'contract.json');
  const enabled = { enabled: true };
  writeFileSync(path, JSON.stringify({ operations: { listSubscribers: enabled, deleteSubscriber: enabled } }));
  return path;
}

/** Starts a subscription under an id of its own, so that many share an account. */
export async function subscribe(
  { client, config }: Pick<OrderStack, 'client' | 'config'>,
  more: Partial<SubscriptionInput> = {},
  progress?: SubscriptionProgress,
): Promise<SubscriptionRun> {
  const eventType: EventType = more.eventType ?? 'business_report';
  const key = { account: toAccountName('business'), eventType };
  const input: SubscriptionInput = { ...key, publicUrl: 'http://127.0.0.1:9/base', ...more };
  const handle = await client.workflow.start<typeof subscription>('subscription', {
    workflowId: `${subscriptionId(key)}/${randomUUID()}`,
    taskQueue: config.taskQueue,
    args: progress ? [input, progress] : [input],
  });
  const describe = () => client.workflow.getHandle(handle.workflowId).describe();
  const status = () => client.workflow.getHandle(handle.workflowId).query<SubscriptionStatus, []>('subscriptionStatus');
  return {
    handle,
    status,
    accepted: async () => ((await describe()).memo?.subscription as SubscriptionMemo | undefined)?.accepted ?? [],
    async active() {
      await expect.poll(async () => (await status()).state, patient).toBe('active');
      return await status();
    },
    async shows(attention) {
      await expect
        .poll(async () => (await describe()).searchAttributes.RideAttention?.[0] ?? undefined, patient)
        .toBe(attention);
    },
  };
}
