import type { Attention } from '../attention.js';
import { iso, PublishedInstantSchema } from '../instant.js';
import * as s from '../schema.js';
import type { SilenceWatch } from './input.js';

/** How the watch of the account found the changes of its orders. */
export interface OrderCounts {
  /** Orders whose end a poll found, and no delivery announced. */
  read: number;
  /** Changes that a delivery announced. */
  delivered: number;
}

const ChangeCountsSchema = s.answerOf({
  read: s.wholeNumber(0),
  delivered: s.wholeNumber(0),
  from: PublishedInstantSchema,
});
/** Argument of the signal `changesCounted`: what the watch counted since the ISO instant `from`. */
export type ChangeCounts = s.Read<typeof ChangeCountsSchema>;

/** Reads the argument of `changesCounted`, which any program may send; null for anything else. */
export const readChangeCounts = (value: unknown): ChangeCounts | null => s.readOr(ChangeCountsSchema, value, null);

/** The window in which counts matter is so many times as long as the watch of the subscription says: a day. */
const windowLooks = 24;
/** Orders that start right after a subscription may have changed before it counted. */
const longestSettlingMs = 60_000;
const dayMs = 86_400_000;

/** The counts that matter now: within the window, and under the newest address. `registeredAt`: since when the service delivers there. */
export function countsWithin(
  counts: readonly ChangeCounts[],
  { registeredAt, everyMs, now }: { registeredAt: string; everyMs: number; now: number },
): ChangeCounts[] {
  const start = Math.max(now - windowLooks * everyMs, Date.parse(registeredAt) + Math.min(longestSettlingMs, everyMs));
  return counts.filter(({ from }) => from >= iso(start));
}

/** All counts together. */
export const sumOf = (counts: readonly OrderCounts[]): OrderCounts => ({
  read: counts.reduce((sum, { read }) => sum + read, 0),
  delivered: counts.reduce((sum, { delivered }) => sum + delivered, 0),
});

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
