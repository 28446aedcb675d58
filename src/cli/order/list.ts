import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { Command } from 'commander';
import { InvalidInput } from '../../domain/errors.js';
import { toAccountName } from '../../domain/keys.js';
import { fromFollowOrderId } from '../../domain/workflow-ids.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { checked } from '../arguments.js';
import { attentionText, commandTextFor, readAttention } from '../attention.js';
import { type CommandContext, type CommonOptions, type RunCommand, type Session, withSession } from '../command.js';
import { exitCodes } from '../failure.js';
import type { Paint } from '../text.js';
import { clip, plain, tableText, utc } from '../text.js';
import { attentionQuery, listRuns, orderRunsQuery, type RunFilter, toStatusFilter } from '../visibility.js';
import { toRunTimes } from './run.js';

type ListOptions = CommonOptions & RunFilter & { limit: number; attention?: boolean };

const maxLimit = 1_000;

const help = `
Running orders come first, the newest at the top; then those that have ended, the last one at the
top, for as long as Temporal keeps them. With --attention: whatever runs and needs a person, also
rides, calls, subscriptions, reports, tokens and parked deliveries, with the command that helps.
The list trails behind the runs by a second or so.

Examples:
  faretrail list --attention
  faretrail list --account partner --status Driving --limit 200`;

/** `list`: runs of orders by account, status and attention. */
export function addListCommand(program: Command, run: RunCommand): void {
  program
    .command('list')
    .description('list followed orders, or what needs a person')
    .option(
      '--account <name>',
      'only of this account',
      checked((text) => toAccountName(text, '--account')),
    )
    .option('--status <status>', 'only with this status, such as Driving', checked(toStatusFilter))
    .option('--attention', 'whatever runs and needs a person')
    .option('--running', 'only running ones')
    .option('--limit <number>', `at most so many, 1 to ${maxLimit}`, checked(toLimit), 50)
    .addHelpText('after', help)
    .action(
      run<[], ListOptions>((context, _none, { limit, attention, ...filter }) =>
        withSession(context, async (session) => {
          const hasMore = attention
            ? await tellAttention(context, session, filter, limit)
            : await tellOrders(context, session, filter, limit);
          if (hasMore) context.note(`There are more than ${limit}; narrow the list, or raise --limit.`);
          return exitCodes.done;
        }),
      ),
    );
}

async function tellOrders(context: CommandContext, session: Session, filter: RunFilter, limit: number) {
  const { found, hasMore } = await listRuns(session, orderRunsQuery(filter), limit);
  const orders = found.flatMap(toListedOrder);
  context.tell({ orders, hasMore }, ordersText(orders, context.paint));
  return hasMore;
}

async function tellAttention(context: CommandContext, session: Session, filter: RunFilter, limit: number) {
  const { found, hasMore } = await listRuns(session, attentionQuery(filter), limit);
  const runs = await readAttention(session, found);
  const told = runs.map((run) => ({ ...run, command: commandTextFor(run) }));
  context.tell({ runs: told, hasMore }, attentionText(runs, context.paint));
  return hasMore;
}

function toLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > maxLimit) {
    throw new InvalidInput(`--limit: must be a whole number from 1 to ${maxLimit}`);
  }
  return limit;
}

/** One order of the list; the words are those of the search attributes. */
export interface ListedOrder {
  kind: 'order';
  account: string;
  orderId: string;
  status: string | null;
  seenBy: string | null;
  attention: string | null;
  state: string;
  startedAt: string;
  endedAt: string | null;
}

function toListedOrder(info: WorkflowExecutionInfo): ListedOrder[] {
  const key = fromFollowOrderId(info.workflowId);
  if (!key) return []; // somebody's run under a foreign id; it fails by itself
  const attributes = info.typedSearchAttributes;
  const { state, startedAt, endedAt } = toRunTimes(info);
  return [
    {
      kind: 'order',
      ...key,
      status: attributes.get(rideStatusKey) ?? null,
      seenBy: attributes.get(rideSeenByKey) ?? null,
      attention: attributes.get(rideAttentionKey) ?? null,
      state,
      startedAt,
      endedAt,
    },
  ];
}

/** The list as a table. The order id stays whole, since people copy it. */
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
