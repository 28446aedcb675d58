import type { Attention } from '../attention.js';
import type { SilenceWatch } from './input.js';

/** How the last changes of orders that started within the window were found. */
export interface OrderCounts {
  /** Orders that have ended, their end found by a read that nothing announced. */
  read: number;
  /** Orders whose last change was found because of a delivery. */
  delivered: number;
}

/** So many looks of the watch make up the window in which it counts: a day. */
const windowLooks = 24;
/** Orders that start right after a subscription may have changed before it counted. */
const longestSettlingMs = 60_000;
const dayMs = 86_400_000;

/** From when on orders count, in milliseconds since the epoch: within the window, and under the newest address. */
export const silenceWindowStart = (registeredAt: string, everyMs: number, now: number): number =>
  Math.max(now - windowLooks * everyMs, Date.parse(registeredAt) + Math.min(longestSettlingMs, everyMs));

/** Do deliveries fail to come? Too few orders prove nothing, so the last verdict stands. */
export function judgeSilence({ read, delivered }: OrderCounts, minOrders: number, wasSilent: boolean): boolean {
  if (delivered > 0) return false;
  return read >= minOrders || wasSilent;
}

/** When a silent subscription may be created again, in milliseconds since the epoch: at most once a day. */
export const resubscribeAt = (resubscribedAt: string | null): number =>
  resubscribedAt === null ? 0 : Date.parse(resubscribedAt) + dayMs;

/** The attention of a silent subscription. */
export const silenceAttention = ({ read }: OrderCounts, { everyMs }: SilenceWatch, since: string): Attention => ({
  code: 'subscriptionSilent',
  message:
    `Deliveries do not come: ${read} orders ended unannounced within ${Math.round((windowLooks * everyMs) / 60_000)} minutes. ` +
    'Orders are read on, faster. Check that the service reaches the public URL, then rotate the subscription.',
  since,
});
