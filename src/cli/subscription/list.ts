import type { AccountName } from '../../domain/keys.js';
import { fromSubscriptionId, type SubscriptionKey } from '../../domain/workflow-ids.js';
import { accountOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, inSession, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { listRuns, readEach, runningQuery } from '../visibility.js';
import { findSubscription, readSubscriptionStatus } from './run.js';
import { type ListedSubscription, subscriptionsText, toListedSubscription } from './view.js';

const limit = 200;

const help = `
States: active (the service has confirmed it); subscribing (it has not yet, see
the attention); unknown (no worker answers). The list is about a second behind
the runs.`;

/** `subscription list`: the running subscriptions and how they stand. */
export const addSubscriptionList: AddCommand = (subscription, run) => {
  const examples = ['', '--account business --json'];
  addCommand(subscription, 'list', { does: 'list running subscriptions', examples, more: help })
    .option(...accountOption)
    .action(run(inSession(list)));
};

async function list(context: CommandContext, session: Session, { account }: { account?: AccountName }) {
  const { found, hasMore } = await listRuns(session, runningQuery('subscription', account), limit);
  const keys = found.flatMap(({ workflowId }) => fromSubscriptionId(workflowId) ?? []);
  const subscriptions = await readEach(keys, (key) => readOne(session, key));
  context.tell({ subscriptions, hasMore }, subscriptionsText(subscriptions, Date.now(), context.paint));
  if (hasMore) context.note(`There are more than ${limit}; narrow the list with --account.`);
  return exitCodes.done;
}

async function readOne(session: Session, key: SubscriptionKey): Promise<ListedSubscription[]> {
  const outline = await findSubscription(session, key);
  if (!outline?.isOpen) return []; // it ended after the list was made
  return [toListedSubscription(key, await readSubscriptionStatus(session, key), outline.accepted)];
}
