import { type SubscriptionMemo, subscriptionMemoField } from '../../../src/domain/subscription/subscription.js';
import { decodeAll } from '../../../src/temporal/runs.js';
import type { Stage } from './stage.js';

/**
 * Signature state of each address, as the subscription and the ingress knew it. Times are milliseconds since the
 * epoch.
 */
export interface ProvenAddresses {
  /** When the run published that deliveries are signed, by generation. */
  publishedAt: ReadonlyMap<string, number>;
  /** Generations without a known secret, because the service's answer was lost. */
  withoutSecret: ReadonlySet<string>;
  /** The generation in force at the end. */
  current: string | undefined;
  /** When ingress processes logged that they had verified a delivery. */
  verified: readonly { generation: string; at: number }[];
}

/** Reads all memos that the run has published, and the log of the ingress. */
export async function provenAddresses({
  client,
  members,
}: Pick<Stage, 'client' | 'members'>): Promise<ProvenAddresses> {
  const publishedAt = new Map<string, number>();
  const withoutSecret = new Set<string>();
  const memos = await publishedMemos(client);
  for (const { at, memo } of memos)
    for (const { generation, isSecretLost, verified } of memo.accepted) {
      if (isSecretLost) withoutSecret.add(generation);
      if (verified && !publishedAt.has(generation)) publishedAt.set(generation, at);
    }
  const current = memos.at(-1)?.memo.accepted.find(({ until }) => until === null)?.generation;
  return { publishedAt, withoutSecret, current, verified: verifiedIn(members.ingress.output().toString()) };
}

/** Sorted by time. */
async function publishedMemos(client: Stage['client']): Promise<{ at: number; memo: SubscriptionMemo }[]> {
  const memos: { at: number; memo: SubscriptionMemo }[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: 'WorkflowType = "subscription"' })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const { eventTime, workflowPropertiesModifiedEventAttributes: changed } of events ?? []) {
      const payload = changed?.upsertedMemo?.fields?.[subscriptionMemoField];
      if (!payload || !eventTime) continue;
      const [memo] = (await decodeAll(client, [payload])) as [SubscriptionMemo];
      memos.push({ at: Number(eventTime.seconds) * 1_000 + (eventTime.nanos ?? 0) / 1e6, memo });
    }
  }
  return memos.sort((one, other) => one.at - other.at);
}

/** Skips incomplete log lines, which killed processes leave behind. */
function verifiedIn(log: string): { generation: string; at: number }[] {
  const lines = log.split('\n').filter((line) => line.includes('deliveries carry a valid signature in this header'));
  return lines.flatMap((line) => {
    try {
      const { generation, time } = JSON.parse(line) as { generation: string; time: string };
      return [{ generation, at: Date.parse(time) }];
    } catch {
      return [];
    }
  });
}
