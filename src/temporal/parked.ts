import type { AccountName } from '../domain/keys.js';
import type { ParkedDelivery } from '../domain/parked.js';
import { publishedDelivery } from '../domain/published.js';
import { fromParkedDeliveryId, type ParkedDeliveryKey } from '../domain/workflow-ids.js';
import { type Found, type Looking, listRuns, runsQuery } from './visibility.js';

/** A delivery that waits for a person. Only its key is known until a worker has handled it. */
export type WaitingDelivery = ParkedDeliveryKey &
  Partial<Pick<ParkedDelivery, 'eventType' | 'reason' | 'receivedAt' | 'aboutOrderId'>>;

/** The deliveries that wait for a person. */
export const findParked = (
  looking: Looking,
  { account, limit }: { account?: AccountName | undefined; limit: number },
): Promise<Found<WaitingDelivery>> =>
  listRuns(looking, runsQuery('parkedDelivery', { account, running: true }), limit, ({ workflowId, memo }) => {
    const key = fromParkedDeliveryId(workflowId);
    const { eventType, reason, receivedAt, aboutOrderId } = publishedDelivery(memo) ?? {};
    return key ? [{ ...key, eventType, reason, receivedAt, aboutOrderId } as WaitingDelivery] : [];
  });
