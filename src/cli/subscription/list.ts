import type { Command } from 'commander';
import { type AccountName, toAccountName } from '../../domain/keys.js';
import { fromSubscriptionId, type SubscriptionKey } from '../../domain/workflow-ids.js';
import { checked } from '../arguments.js';
import { type CommonOptions, type RunCommand, type Session, withSession } from '../command.js';
import { exitCodes } from '../failure.js';
import { listRuns, runningQuery } from '../visibility.js';
import { findSubscription, readSubscriptionStatus } from './run.js';
import { type ListedSubscription, subscriptionsText, toListedSubscription } from './view.js';

type SubscriptionsOptions = CommonOptions & { account?: AccountName };

const limit = 200;
/** Calls at a time; each is a small read. */
const batch = 10;

const help = `
States: active (deliveries can come); subscribing (the service has not taken it yet, see the
attention); unknown (no worker answers). The list trails behind the runs by a second or so.

Examples:
  faretrail subscriptions
  faretrail subscriptions --account business --json`;

/** `subscriptions`: what is subscribed to, and how it stands. */
export function addSubscriptionsCommand(program: Command, run: RunCommand): void {
  program
    .command('subscriptions')
    .description('list running subscriptions')
    .option(
      '--account <name>',
      'only of this account',
      checked((text) => toAccountName(text, '--account')),
    )
    .addHelpText('after', help)
    .action(
      run<[], SubscriptionsOptions>(async (context, _none, { account }) => {
        return await withSession(context, async (session) => {
          const { found, hasMore } = await listRuns(session, runningQuery('subscription', account), limit);
          const keys = found.flatMap(({ workflowId }) => fromSubscriptionId(workflowId) ?? []);
          const subscriptions = await readAll(session, keys);
          context.tell({ subscriptions, hasMore }, subscriptionsText(subscriptions, Date.now(), context.paint));
          if (hasMore) context.note(`There are more than ${limit}; narrow the list with --account.`);
          return exitCodes.done;
        });
      }),
    );
}

async function readAll(session: Session, keys: readonly SubscriptionKey[]): Promise<ListedSubscription[]> {
  const listed: ListedSubscription[] = [];
  for (let from = 0; from < keys.length; from += batch) {
    const some = keys.slice(from, from + batch).map((key) => readOne(session, key));
    listed.push(...(await Promise.all(some)).flat());
  }
  return listed;
}

async function readOne(session: Session, key: SubscriptionKey): Promise<ListedSubscription[]> {
  const outline = await findSubscription(session, key);
  if (!outline?.isOpen) return []; // the list trails behind
  return [toListedSubscription(key, await readSubscriptionStatus(session, key), outline.accepted)];
}
