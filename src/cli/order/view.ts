import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { OrderTrail } from '../../client/index.js';
import { toKnownStatus } from '../../domain/order/status.js';
import { type FollowOrderKey, fromFollowOrderId } from '../../domain/workflow-ids.js';
import { toRunTimes } from '../../temporal/runs.js';
import { listRuns, type RunFilter, runsQuery } from '../../temporal/visibility.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { listing, type Session } from '../command.js';
import { CliFailure } from '../failure.js';
import { attentionText, type ReadRun, type ShownRun, watchRun } from '../runs.js';
import { type Columns, cardText, clip, type Pair, paint, plain, utc } from '../text.js';

/** The run of an order. Its `find` throws `CliFailure` NotFollowed. */
export function orderRun({ rides, get }: Session, { account, orderId }: FollowOrderKey) {
  const order = rides.get(account, orderId);
  const message = `order ${orderId} of account ${account} is not followed, and Temporal remembers no run of it; follow it with: faretrail order follow ${account} ${orderId}`;
  return {
    find: () => get(order.workflowId, new CliFailure('NotFollowed', message)),
    ask: order.trail,
    result: order.result,
    toJson: (run) => ({ known: knownOf(run.found), trail: trailOf(run) }),
    toText(run) {
      const trail = trailOf(run);
      return trail && trailText(trail);
    },
    knownText(found) {
      const { status, seenBy, attention } = knownOf(found);
      return cardText(`Order ${plain(orderId)} of account ${account}`, [
        ['status', status ? `${paint('strong', plain(status))} (seen by a ${seenBy ?? 'read'})` : 'not read yet'],
        ['attention', attention === null ? 'none' : paint('bad', plain(attention))],
      ]);
    },
  } satisfies ShownRun<OrderTrail, OrderTrail>;
}

type OrderRun = ReadRun<OrderTrail, OrderTrail>;
const trailOf = ({ standing, result }: OrderRun): OrderTrail | null => standing ?? result;

/** What the search attributes say of an order; null where the run has not set them. */
export const knownOf = ({ typedSearchAttributes }: Pick<WorkflowExecutionInfo, 'typedSearchAttributes'>) => ({
  status: typedSearchAttributes.get(rideStatusKey) ?? null,
  seenBy: typedSearchAttributes.get(rideSeenByKey) ?? null,
  attention: typedSearchAttributes.get(rideAttentionKey) ?? null,
});

/** One observation that changed something. */
export type TimelineEntry = OrderTrail['timeline'][number];

const statusWidth = 12;

/** One line of a timeline: when the run saw it (UTC), the status, and whether a read or a delivery showed it. Safe for a terminal. */
export function timelineLine({ at, status, rawStatus, source, eventTime }: TimelineEntry): string {
  const happened = eventTime === undefined ? '' : ` (happened ${utc(eventTime)})`;
  const came = `${happened}${rawStatus === status ? '' : ` (came as ${plain(rawStatus)})`}`;
  return `${paint('faint', utc(at))}  ${paint('strong', plain(status).padEnd(statusWidth))}  ${source}${came}`;
}

/** The whole trail for a terminal of 100 columns; times in UTC. Safe whatever words the service used. */
export function trailText(trail: OrderTrail): string {
  const head = `Order ${plain(trail.orderId)} of account ${trail.account}`;
  const none = paint('faint', 'nothing read yet');
  const timeline = trail.timeline.length > 0 ? trail.timeline.map(timelineLine) : [none];
  return [cardText(head, facts(trail)), '', ...timeline].join('\n');
}

function facts(trail: OrderTrail): Pair[] {
  const { attention, deliveries, outcome, reads, reference, status } = trail;
  const since = `since ${utc(trail.since)} UTC`;
  const { received, duplicate } = deliveries;
  const delivered =
    received === 0 ? 'no delivery' : `${count(received, 'delivery', 'deliveries')} (${duplicate} duplicate)`;
  const isUnknownWord = status !== null && !trail.terminal && toKnownStatus(status) === undefined;
  return [
    ['status', status === null ? `not read yet, followed ${since}` : `${paint('strong', plain(status))} ${since}`],
    ['meaning', isUnknownWord ? 'unknown; set it in statuses.words of the contract profile' : undefined],
    ['outcome', outcome === null ? 'still open' : paint(outcome === 'completed' ? 'good' : 'strong', outcome)],
    ['reference', reference === undefined ? undefined : plain(reference)],
    ['attention', attention === null ? 'none' : attentionText(attention)],
    ['seen by', `${count(reads, 'read', 'reads')}, ${delivered}`],
    ...detailPairs(trail.details ?? {}),
  ];
}

const count = (number: number, one: string, more: string): string => `${number} ${number === 1 ? one : more}`;

/** "vehicle model", "scheduled at": the fields of `details`, nested ones too. */
function detailPairs(details: Record<string, unknown>, prefix = ''): Pair[] {
  return Object.entries(details).flatMap(([name, value]): Pair[] => {
    const label = plain(`${prefix}${name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()}`);
    if (typeof value === 'object' && value !== null) {
      return detailPairs(value as Record<string, unknown>, `${label} `);
    }
    return [[label, detailText(String(value))]];
  });
}

const detailText = (text: string): string =>
  /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(text) ? `${utc(text)} UTC` : plain(text);

/** Prints each change until the run ends, and gives the exit code. Throws `RunFailed`. */
export function watchOrder(session: Session, key: FollowOrderKey): Promise<number> {
  let seen: OrderTrail | null = null;
  return watchRun(session, orderRun(session, key), {
    farewell: 'No longer watched; the order is still followed.',
    print(run) {
      const trail = trailOf(run);
      if (trail === null) return;
      for (const change of changesBetween(seen, { trail, isOpen: run.found.isOpen }))
        session.tell(change, changeText(change));
      seen = trail;
    },
  });
}

/** One change as a line for people. */
export function changeText(change: OrderWatchChange): string {
  switch (change.change) {
    case 'status':
      return timelineLine(change);
    case 'attention':
      if (change.attention === null) return paint('good', 'attention cleared');
      return `${paint('bad', 'attention:')} ${attentionText(change.attention)}`;
    case 'ended':
      return paint('strong', `ended: ${change.trail.outcome ?? plain(change.trail.status ?? 'without a status')}`);
  }
}

/** One change of a watched order, as `watch --json` prints it. */
type OrderWatchChange =
  | ({ change: 'status' } & TimelineEntry)
  | { change: 'attention'; attention: OrderTrail['attention'] }
  | { change: 'ended'; trail: OrderTrail };

/** What changed from one answer to the next; with the first answer, everything. */
export function changesBetween(
  before: OrderTrail | null,
  { trail, isOpen }: { trail: OrderTrail; isOpen: boolean },
): OrderWatchChange[] {
  const { attention } = trail;
  const changes = newEntries(before?.timeline ?? [], trail.timeline).map(
    (entry): OrderWatchChange => ({ change: 'status', ...entry }),
  );
  if (attention?.code !== before?.attention?.code) changes.push({ change: 'attention', attention });
  if (!isOpen) changes.push({ change: 'ended', trail });
  return changes;
}

/** A timeline grows at its end; a long one loses entries at its start. */
function newEntries(before: readonly TimelineEntry[], now: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const last = before.at(-1);
  if (last === undefined) return now;
  const known = now.findLastIndex(({ at, rawStatus, source }) => {
    return at === last.at && rawStatus === last.rawStatus && source === last.source;
  });
  return now.slice(known + 1);
}

/** One order of the list. */
export type ListedOrder = ReturnType<typeof toListedOrder>[number];

function toListedOrder(info: WorkflowExecutionInfo) {
  const key = fromFollowOrderId(info.workflowId);
  if (!key) return []; // the id is not ours, so this run fails by itself
  const { state, startedAt, endedAt } = toRunTimes(info);
  return [{ kind: 'order', ...key, ...knownOf(info), state, startedAt, endedAt }];
}

/** The list of orders. Order ids are not cut, since people copy them. */
export const orderColumns: Columns<ListedOrder> = {
  ...{ account: 'account', order: 'orderId' },
  status: ({ status }) => status && clip(status, 14),
  ...{ 'seen by': 'seenBy', attention: 'attention', 'started (UTC)': 'startedAt', run: 'state' },
};

/** `order list`: runs of orders by account and status. */
export const listOrders = listing({
  name: 'orders',
  empty: 'No order fits.',
  columns: orderColumns,
  find: (session, { limit, ...filter }: RunFilter & { limit: number }) =>
    listRuns(session, runsQuery('followOrder', filter), limit, toListedOrder),
});
