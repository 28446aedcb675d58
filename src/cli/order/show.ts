import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { OrderTrail } from '../../client/index.js';
import { type FollowOrderKey, followOrderId, fromFollowOrderId } from '../../domain/workflow-ids.js';
import { type RunTimes, toRunTimes } from '../../temporal/runs.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { accountOption, checked, limitOption } from '../arguments.js';
import { type AddCommand, addCommand, inSession, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { listing, listRuns, newestRunsQuery, type RunFilter, toStatusFilter } from '../lists.js';
import {
  type AskedRun,
  attentionText,
  decisionsOf,
  decisionsText,
  readRun,
  runText,
  type ShownRun,
  watchRun,
} from '../runs.js';
import { type Columns, clip, type Paint, type Pair, pairsText, plain, utc, withoutColour } from '../text.js';

/** The run of an order. Its `find` throws `CliFailure` NotFollowed. */
export function orderRun(
  { rides, find }: Session,
  { account, orderId }: FollowOrderKey,
): AskedRun<OrderTrail, OrderTrail> {
  const order = rides.get(account, orderId);
  return {
    async find() {
      const found = await find(followOrderId({ account, orderId }));
      if (found) return found;
      throw new CliFailure(
        'NotFollowed',
        `order ${orderId} of account ${account} is not followed, and Temporal remembers no run of it; follow it with: faretrail order follow ${account} ${orderId}`,
      );
    },
    ask: order.trail,
    result: order.result,
  };
}

type OrderRun = ShownRun<OrderTrail, OrderTrail>;
const trailOf = ({ standing, result }: OrderRun): OrderTrail | null => standing ?? result;

/** What the search attributes say of an order; null where the run has not set them. */
export const knownOf = ({ typedSearchAttributes }: Pick<WorkflowExecutionInfo, 'typedSearchAttributes'>) => ({
  status: typedSearchAttributes.get(rideStatusKey) ?? null,
  seenBy: typedSearchAttributes.get(rideSeenByKey) ?? null,
  attention: typedSearchAttributes.get(rideAttentionKey) ?? null,
});

/** One observation that changed something. */
export type TimelineEntry = OrderTrail['timeline'][number];
type Attention = NonNullable<OrderTrail['attention']>;

const statusWidth = 12;

/** One line of a timeline: when the run saw it (UTC), the status, and whether a read or a delivery showed it. Safe for a terminal. */
export function timelineLine({ at, status, rawStatus, source }: TimelineEntry, paint: Paint = withoutColour): string {
  const came = rawStatus === status ? '' : ` (came as ${plain(rawStatus)})`;
  return `${paint('faint', utc(at))}  ${paint('strong', plain(status).padEnd(statusWidth))}  ${source}${came}`;
}

/** Why the run needs a person, or that it no longer does. */
export const attentionLine = (attention: Attention | null, paint: Paint = withoutColour): string =>
  attention === null
    ? paint('good', 'attention cleared')
    : `${paint('bad', 'attention:')} ${attentionText(attention, paint)}`;

/** The whole trail for a terminal of 100 columns; times in UTC. Safe whatever words the service used. */
export function trailText(trail: OrderTrail, paint: Paint = withoutColour): string {
  const head = paint('strong', `Order ${plain(trail.orderId)} of account ${trail.account}`);
  const timeline = trail.timeline.map((entry) => timelineLine(entry, paint));
  const none = paint('faint', 'nothing read yet');
  return [head, pairsText(facts(trail, paint), paint), '', ...(timeline.length > 0 ? timeline : [none])].join('\n');
}

function facts(trail: OrderTrail, paint: Paint): Pair[] {
  const { attention, deliveries, outcome, reads, reference, status } = trail;
  const since = `since ${utc(trail.since)} UTC`;
  return [
    ['status', status === null ? `not read yet, followed ${since}` : `${paint('strong', plain(status))} ${since}`],
    ['outcome', outcome === null ? 'still open' : paint(outcome === 'completed' ? 'good' : 'strong', outcome)],
    ['reference', reference === undefined ? undefined : plain(reference)],
    ['attention', attention === null ? 'none' : attentionText(attention, paint)],
    ['seen by', `${count(reads, 'read')}, ${deliveriesText(deliveries)}`],
    ...detailPairs(trail.details ?? {}),
  ];
}

function deliveriesText({ received, duplicate }: OrderTrail['deliveries']): string {
  if (received === 0) return 'no delivery';
  return `${received === 1 ? '1 delivery' : `${received} deliveries`} (${duplicate} duplicate)`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

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

/** `order show <account> <orderId>`: the trail of an order, open or ended. */
export const addShow: AddCommand = (order, run) => {
  const does = 'show the trail of an order; needs no worker';
  addCommand(order, 'show <account> <orderId>', { does, examples: ['partner 42'] }).action(run(inSession(show)));
};

async function show(session: Session, key: FollowOrderKey): Promise<number> {
  const run = await readRun(session, orderRun(session, key));
  const decisions = await decisionsOf(session, run.found.workflowId);
  const text = `${orderText(run, key, session.paint)}${decisionsText(decisions, session.paint)}`;
  session.tell({ ...toRunJson(run), decisions }, text);
  return exitCodes.done;
}

/** The JSON of a run. */
export function toRunJson(run: OrderRun) {
  const { workflowId, state, startedAt, endedAt } = run.found;
  return {
    workflowId,
    state,
    startedAt,
    endedAt,
    known: knownOf(run.found),
    trail: trailOf(run),
    failure: run.failure,
  };
}

/** The trail; without one what Temporal itself knows. */
export function orderText(run: OrderRun, key: FollowOrderKey, paint: Paint): string {
  const { status, seenBy, attention } = knownOf(run.found);
  const pairs: Pair[] = [
    ['status', status === null ? 'not read yet' : `${paint('strong', plain(status))} (seen by a ${seenBy ?? 'read'})`],
    ['attention', attention === null ? 'none' : paint('bad', plain(attention))],
  ];
  const head = paint('strong', `Order ${plain(key.orderId)} of account ${key.account}`);
  const trail = trailOf(run);
  const known = [head, pairsText(pairs, paint)].join('\n');
  return runText(run, { shown: trail && trailText(trail, paint), known }, paint);
}

const watchHelp = `
Ends with 0 when the order has ended, with 1 when the run failed. Ctrl-C ends
the watching (exit code 130); the run goes on following the order.`;

/** `order watch <account> <orderId>`: each change as it comes, until the end. */
export const addWatch: AddCommand = (order, run) => {
  const does = 'print each change of an order until it ends';
  const examples = ['partner 42', `partner 42 --json | jq -r 'select(.change == "status") | .status'`];
  addCommand(order, 'watch <account> <orderId>', { does, examples, more: watchHelp }).action(
    run(inSession(watchOrder)),
  );
};

/** Prints each change until the run ends, and gives the exit code. Throws `RunFailed`. */
export function watchOrder(session: Session, key: FollowOrderKey): Promise<number> {
  let seen: OrderTrail | null = null;
  return watchRun(session, orderRun(session, key), {
    farewell: 'No longer watched; the order is still followed.',
    print(run) {
      const trail = trailOf(run);
      if (trail === null) return;
      for (const change of changesBetween(seen, { trail, isOpen: run.found.isOpen }))
        session.tell(change, changeText(change, session.paint));
      seen = trail;
    },
  });
}

/** One change as a line for people. */
export function changeText(change: OrderWatchChange, paint: Paint): string {
  switch (change.change) {
    case 'status':
      return timelineLine(change, paint);
    case 'attention':
      return attentionLine(change.attention, paint);
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
  const isOther = attention?.code !== before?.attention?.code;
  return [
    ...newEntries(before?.timeline ?? [], trail.timeline).map((entry) => ({ change: 'status', ...entry }) as const),
    ...(isOther ? [{ change: 'attention', attention } as const] : []),
    ...(isOpen ? [] : [{ change: 'ended', trail } as const]),
  ];
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

const listHelp = `
Running orders come first, the newest at the top; then those that have ended,
the last one at the top, for as long as Temporal keeps them. The list is about a
second behind the runs. To see what needs a person: faretrail attention`;

/** One order of the list. */
export interface ListedOrder extends ReturnType<typeof knownOf>, Omit<RunTimes, 'isOpen'> {
  kind: 'order';
  account: string;
  orderId: string;
}

function toListedOrder(info: WorkflowExecutionInfo): ListedOrder[] {
  const key = fromFollowOrderId(info.workflowId);
  if (!key) return []; // the id is not ours, so this run fails by itself
  const { state, startedAt, endedAt } = toRunTimes(info);
  return [{ kind: 'order', ...key, ...knownOf(info), state, startedAt, endedAt }];
}

/** The list of orders. Order ids are not cut, since people copy them. */
export const orderColumns: Columns<ListedOrder> = {
  account: ({ account }) => account,
  order: ({ orderId }) => orderId,
  status: ({ status }) => status && clip(status, 14),
  'seen by': ({ seenBy }) => seenBy,
  attention: ({ attention }) => attention,
  'started (UTC)': ({ startedAt }) => utc(startedAt),
  run: ({ state }) => state,
};

/** `order list`: runs of orders by account and status. */
export const addOrderList: AddCommand = (order, run) => {
  const examples = ['--running', '--account partner --status Driving --limit 200'];
  addCommand(order, 'list', { does: 'list followed orders', examples, more: listHelp })
    .option(...accountOption)
    .option('--status <status>', 'only with this status, such as Driving', checked(toStatusFilter))
    .option('--running', 'only running ones')
    .option(...limitOption)
    .action(run(listOrders));
};

const listOrders = listing({
  name: 'orders',
  empty: 'No order fits.',
  columns: orderColumns,
  find: (session, { limit, ...filter }: RunFilter & { limit: number }) =>
    listRuns(session, { query: newestRunsQuery('followOrder', filter), limit }, toListedOrder),
});
