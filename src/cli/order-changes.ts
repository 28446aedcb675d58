import type { OrderTrail, TimelineEntry } from '../domain/trail.js';
import type { OrderRun } from './order-run.js';

/** One change of a watched order, as `watch --json` prints it. */
export type OrderWatchChange =
  | ({ change: 'status' } & TimelineEntry)
  | { change: 'attention'; attention: OrderTrail['attention'] }
  | { change: 'ended'; trail: OrderTrail };

/** What changed from one look at a trail to the next; everything at the first look. */
export function changesBetween(
  before: OrderTrail | null,
  { trail, isOpen }: Pick<OrderRun, 'trail' | 'isOpen'>,
): OrderWatchChange[] {
  if (trail === null) return [];
  const statuses = newEntries(before?.timeline ?? [], trail.timeline).map(
    (entry): OrderWatchChange => ({ change: 'status', ...entry }),
  );
  const { attention } = trail;
  const isOther = attention?.code !== before?.attention?.code;
  return [
    ...statuses,
    ...(isOther ? [{ change: 'attention', attention } as const] : []),
    ...(isOpen ? [] : [{ change: 'ended', trail } as const]),
  ];
}

/** Timelines grow at the end and are cut at the start. */
function newEntries(before: readonly TimelineEntry[], now: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const last = before.at(-1);
  if (last === undefined) return now;
  const known = now.findLastIndex(({ at, rawStatus, source }) => {
    return at === last.at && rawStatus === last.rawStatus && source === last.source;
  });
  return now.slice(known + 1);
}
