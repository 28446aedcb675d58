import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, toAccountName } from '../domain/keys.js';
import { toDeliveryId } from '../domain/parked-delivery-input.js';
import { publishedDelivery } from '../domain/published.js';
import { fromParkedDeliveryId } from '../domain/workflow-ids.js';
import { exitCodes, tellUnreadable } from './cli-failure.js';
import { type CommandContext, type CommonOptions, type RunCommand, withSession } from './command-context.js';
import { checked } from './order-command.js';
import { openParked } from './parked-content.js';
import { getParked } from './parked-run.js';
import { type ListedDelivery, openedText, parkedText } from './parked-view.js';
import { runningQuery } from './subscriptions-command.js';
import { listRuns } from './visibility.js';

interface ParkedOptions extends CommonOptions {
  account?: AccountName;
  open?: string;
}

const limit = 500;

const help = `
A delivery is parked when nobody can say which order it is about, when it failed a check after it
was taken, or when a person has stopped the following of its order (track it with --again, then
route). It waits until a person routes or discards it. --open needs FARETRAIL_WEBHOOK_KEYS (those
of the ingress); it shows the body, secrets hidden.

Examples:
  faretrail parked
  faretrail parked --account business --open 0f5b2a7c9d1e4f60a1b2c3d4e5f60718`;

/** `parked`: deliveries that wait for a person. */
export function addParkedCommand(program: Command, run: RunCommand): void {
  program
    .command('parked')
    .description('list deliveries that nobody could place')
    .option(
      '--account <name>',
      'only of this account',
      checked((text) => toAccountName(text, '--account')),
    )
    .option('--open <deliveryId>', 'show the body of one', checked(toDeliveryId))
    .addHelpText('after', help)
    .action(
      run<[], ParkedOptions>((context, _none, { account, open }) =>
        open === undefined ? list(context, account) : show(context, account, open),
      ),
    );
}

function list(context: CommandContext, account: AccountName | undefined): Promise<number> {
  return withSession(context, async (session) => {
    const { found, hasMore } = await listRuns(session, runningQuery('parkedDelivery', account), limit);
    const deliveries = found.flatMap(({ workflowId, memo }): ListedDelivery[] => {
      const key = fromParkedDeliveryId(workflowId);
      if (!key) return [];
      const { eventType, reason, receivedAt, aboutOrderId } = publishedDelivery(memo) ?? {};
      const facts = eventType && reason && receivedAt ? { eventType, reason, receivedAt } : {};
      return [{ ...key, ...facts, ...(aboutOrderId === undefined ? {} : { aboutOrderId }) }];
    });
    context.tell({ deliveries, hasMore }, parkedText(deliveries, context.paint));
    if (hasMore) context.note(`There are more than ${limit}; narrow the list with --account.`);
    return exitCodes.done;
  });
}

function show(context: CommandContext, account: AccountName | undefined, deliveryId: string): Promise<number> {
  const { webhookKeys, accounts } = context.loadSettings();
  if (!webhookKeys) throw new InvalidInput('FARETRAIL_WEBHOOK_KEYS: missing; set the keys of the ingress');
  const candidates = account === undefined ? accounts.map(({ name }) => name) : [account];
  if (candidates.length === 0) throw new InvalidInput('--account: missing; no account is set here to look through');
  return withSession(context, async (session) => {
    const { key, delivery } = await getParked(session, candidates, deliveryId);
    const opened = await openParked(session, key, webhookKeys).catch(tellUnreadable);
    const content = opened ?? { contentType: null, body: null, bytes: 0 };
    context.tell({ ...key, delivery, ...content }, openedText(key, delivery, opened, context.paint));
    return exitCodes.done;
  });
}
