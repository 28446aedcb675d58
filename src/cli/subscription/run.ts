import { setTimeout as sleep } from 'node:timers/promises';
import { publishedAddresses } from '../../domain/published.js';
import type { SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { runOf } from '../../temporal/runs.js';
import { subscriptionStatusQuery } from '../../workflows/messages.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure } from '../failure.js';

/** What Temporal itself knows of a subscription; that needs no worker. */
export interface SubscriptionOutline {
  isOpen: boolean;
  startedAt: string;
  /** Generations of the address that the ingress accepts, newest first. */
  accepted: string[];
}

/** The run of a subscription. */
export const subscriptionOf = ({ client }: Session, key: SubscriptionKey) => runOf(client, subscriptionId(key));

/** Undefined when there has never been one, as far as Temporal remembers. */
export async function findSubscription(
  session: Session,
  key: SubscriptionKey,
): Promise<SubscriptionOutline | undefined> {
  const found = await subscriptionOf(session, key).find({ withinMs: callTimeoutMs });
  const accepted = (found && publishedAddresses(found.memo)?.accepted) ?? [];
  return found && { ...found, accepted: accepted.map(({ generation }) => generation) };
}

/** There must be a running one. Throws `CliFailure` NotSubscribed. */
export async function getSubscription(session: Session, key: SubscriptionKey): Promise<SubscriptionOutline> {
  const found = await findSubscription(session, key);
  if (found?.isOpen) return found;
  throw notSubscribed(key, found ? 'has ended' : 'does not exist');
}

/** There is no running subscription. */
export const notSubscribed = ({ account, eventType }: SubscriptionKey, standing: string): CliFailure =>
  new CliFailure(
    'NotSubscribed',
    `the subscription of account ${account} to ${eventType} ${standing}; create it with: faretrail subscription create ${account} ${eventType}`,
  );

/** Long enough for a busy worker, short enough for a person who waits. */
const queryTimeoutMs = 5_000;

/** Asks the run; undefined when no worker answers. */
export const readSubscriptionStatus = (
  session: Session,
  key: SubscriptionKey,
): Promise<SubscriptionStatus | undefined> =>
  subscriptionOf(session, key)
    .query(subscriptionStatusQuery, { withinMs: queryTimeoutMs })
    .catch(() => undefined);

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
