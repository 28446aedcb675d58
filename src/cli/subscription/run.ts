import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { publishedAddresses } from '../../domain/published.js';
import type { SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { repeatWhenLost } from '../../temporal/lost-update.js';
import { subscriptionStatusQuery } from '../../workflows/messages.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure } from '../failure.js';
import { toRunTimes } from '../order/run.js';

/** What Temporal itself knows of a subscription; that needs no worker. */
export interface SubscriptionOutline {
  isOpen: boolean;
  startedAt: string;
  /** Generations of the address that the ingress accepts, newest first. */
  accepted: string[];
}

const handleOf = ({ client }: Session, key: SubscriptionKey) => client.workflow.getHandle(subscriptionId(key));

/** Undefined when there has never been one, as far as Temporal remembers. */
export async function findSubscription(
  session: Session,
  key: SubscriptionKey,
): Promise<SubscriptionOutline | undefined> {
  try {
    const found = await session.within(callTimeoutMs, () => handleOf(session, key).describe());
    const memo = publishedAddresses(found.memo);
    const { isOpen, startedAt } = toRunTimes(found);
    return { isOpen, startedAt, accepted: (memo?.accepted ?? []).map(({ generation }) => generation) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** There must be a running one. Throws `CliFailure` NotSubscribed. */
export async function getSubscription(session: Session, key: SubscriptionKey): Promise<SubscriptionOutline> {
  const found = await findSubscription(session, key);
  if (found?.isOpen) return found;
  const standing = found ? 'has ended' : 'does not exist';
  const { account, eventType } = key;
  throw new CliFailure(
    'NotSubscribed',
    `the subscription of account ${account} to ${eventType} ${standing}; create it with: faretrail subscription create ${account} ${eventType}`,
  );
}

/** Long enough for a busy worker, short enough for a person who waits. */
const queryTimeoutMs = 5_000;

/** Asks the run; undefined when no worker answers. */
export async function readSubscriptionStatus(
  session: Session,
  key: SubscriptionKey,
): Promise<SubscriptionStatus | undefined> {
  try {
    return await session.within(queryTimeoutMs, () =>
      repeatWhenLost(() => handleOf(session, key).query(subscriptionStatusQuery)),
    );
  } catch {
    return undefined;
  }
}

const lookAgainMs = 500;

/** Waits until deliveries can come, or `withinMs` are over. The last status that was seen. */
export async function awaitSubscription(
  session: Session,
  key: SubscriptionKey,
  withinMs: number,
): Promise<SubscriptionStatus | undefined> {
  const until = Date.now() + withinMs;
  for (;;) {
    const status = await readSubscriptionStatus(session, key);
    if (status?.state !== 'subscribing' && status !== undefined) return status;
    if (Date.now() + lookAgainMs > until) return status;
    await sleep(lookAgainMs);
  }
}
