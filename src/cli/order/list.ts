import type { WorkflowExecutionInfo } from '@temporalio/client';
import { fromFollowOrderId } from '../../domain/workflow-ids.js';
import { type RunTimes, toRunTimes } from '../../temporal/runs.js';
import { accountOption, checked, limitOption } from '../arguments.js';
import { type AddCommand, addCommand, inSession, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { clip, type Paint, plain, tableText, utc } from '../text.js';
import { listRuns, moreText, newestRunsQuery, type RunFilter, toStatusFilter } from '../visibility.js';
import { knownOf } from './show.js';

const help = `
Running orders come first, the newest at the top; then those that have ended,
the last one at the top, for as long as Temporal keeps them. The list is about a
second behind the runs. To see what needs a person: faretrail attention`;

/** `order list`: runs of orders by account and status. */
export const addOrderList: AddCommand = (order, run) => {
  const examples = ['--running', '--account partner --status Driving --limit 200'];
  addCommand(order, 'list', { does: 'list followed orders', examples, more: help })
    .option(...accountOption)
    .option('--status <status>', 'only with this status, such as Driving', checked(toStatusFilter))
    .option('--running', 'only running ones')
    .option(...limitOption)
    .action(run(inSession(list)));
};

async function list(session: Session, { limit, ...filter }: RunFilter & { limit: number }) {
  const { found, hasMore } = await listRuns(session, newestRunsQuery('followOrder', filter), limit);
  const orders = found.flatMap(toListedOrder);
  session.tell({ orders, hasMore }, ordersText(orders, session.paint));
  if (hasMore) session.note(moreText(limit));
  return exitCodes.done;
}

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

/** The list as a table. Order ids are not cut, since people copy them. */
export function ordersText(orders: readonly ListedOrder[], paint: Paint): string {
  if (orders.length === 0) return 'No order fits.';
  const rows = orders.map((order) => [
    clip(order.account, 16),
    plain(order.orderId),
    clip(order.status ?? '-', 14),
    clip(order.seenBy ?? '-', 8),
    order.attention === null ? '-' : paint('bad', clip(order.attention, 20)),
    utc(order.startedAt),
    clip(order.state, 10),
  ]);
  return tableText(['account', 'order', 'status', 'seen by', 'attention', 'started (UTC)', 'run'], rows, paint);
}
