import { InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { type MissedNotice, missedStatus } from '../domain/notify/notices.js';
import { publishedMissed } from '../domain/published.js';
import { quote } from '../domain/search-attribute-names.js';
import { receiverSecret, toWebhookSecret } from '../notify-http/sender.js';
import { runOf } from '../temporal/runs.js';
import { resendRequestedSignal } from '../workflows/messages.js';
import { rideAccountKey } from '../workflows/search-attributes.js';
import { accountOption, option, toDurationMs } from './arguments.js';
import { type CommandContext, callTimeoutMs, type Looking, type Noun, reading, type Session } from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import { allOf, type Found, listing, listRuns, readEach, runsQuery } from './lists.js';
import { type Columns, rowsText } from './text.js';

const secretHelp = `
Each origin has a secret of its own, made from FARETRAIL_NOTIFY_SECRETS: its
holder cannot sign for another. While secrets change, the command shows one for
each, the one that stays first; a receiver needs one of them.`;

const listHelp = `
Lists notices that their receivers refused or did not take within a day. Each
is kept for a week after the last one that its receiver missed, and can be sent
again until then. The list is about a second behind the runs.`;

const resendHelp = `
Sends the notice with this id again, or all that fit the options, under the same
webhook-id as before: a receiver that has it drops the repeat. It comes after
newer notices. Asking twice sends once. What is refused again is in the list
again.`;

/** Which of the missed notices are meant. */
interface Filter {
  noticeId?: string | undefined;
  account?: AccountName | undefined;
  since?: number | undefined;
  receiver?: string | undefined;
}

const filterOptions = () => [
  accountOption(),
  option('--since <duration>', 'only those missed within this time, such as 2h', toDurationMs),
  option('--receiver <host>', 'only those for this host, as the list shows it'),
];

/** `notice …` */
export const noticeCommands: Noun = {
  noun: 'notice',
  does: 'send refused notices again, show the secrets of receivers',
  verbs: [
    {
      form: 'list',
      does: 'list notices that receivers refused, with their answers',
      examples: ['', '--receiver orders.example.com --since 2h'],
      more: listHelp,
      options: filterOptions(),
      act: (context, given: Filter) => list(context, given),
    },
    {
      form: 'resend [noticeId]',
      does: 'send refused notices again, one or by filter',
      examples: [
        'order/business/7b21/0198f7a2-6a2b-7c3d-9e4f-5a6b7c8d9e0f/0/3',
        '--receiver orders.example.com --since 2h',
      ],
      more: resendHelp,
      options: filterOptions(),
      act: reading(toFilter, resend),
    },
    {
      form: 'secret <origin>',
      does: 'show the secret that a receiver at this origin verifies with',
      examples: ['https://orders.example.com'],
      more: secretHelp,
      act: showSecrets,
    },
  ],
};

/** A notice that its receiver missed. */
export interface Missed extends MissedNotice {
  id: string;
  account: string | null;
  workflowId: string;
}

/** Runs. Receiver and time are in their memos, which no server can search. */
const limit = 10_000;

/** The id of a notice is that of its run, and its number there. */
const idOf = (workflowId: string, number: number): string => `${workflowId.replace(/^notices\//, '')}/${number}`;
const runIdIn = (noticeId: string): string => `notices/${noticeId.replace(/\/[^/]*$/, '')}`;

/** The missed notices that are meant, the oldest first. */
export async function findMissed(
  session: Looking,
  { noticeId, account, since, receiver }: Filter,
): Promise<Found<Missed>> {
  const from = since === undefined ? 0 : Date.now() - since;
  const query = allOf(
    runsQuery('notices', { account, status: missedStatus, running: true }),
    noticeId && `WorkflowId = ${quote(runIdIn(noticeId))}`,
  );
  const { rows, hasMore } = await listRuns(session, query, limit, ({ workflowId, memo, typedSearchAttributes }) => {
    const run = { workflowId, account: typedSearchAttributes.get(rideAccountKey) ?? null };
    return publishedMissed(memo).map((one) => ({ id: idOf(workflowId, one.number), ...run, ...one }));
  });
  const isMeant = ({ id, to, missedAt }: Missed) =>
    (noticeId ?? id) === id && (receiver ?? to) === to && Date.parse(missedAt) >= from;
  return { rows: rows.filter(isMeant).sort((a, b) => a.missedAt.localeCompare(b.missedAt)), hasMore };
}

// Ids are not cut, since people copy them.
const columns: Columns<Missed> = {
  ...{ 'missed (UTC)': 'missedAt', receiver: 'to' },
  answer: ({ status, reason }) => (status === null ? reason : `HTTP ${status}`),
  ...{ type: 'type', notice: 'id' },
};

const list = listing({ name: 'notices', empty: 'No receiver has missed a notice.', columns, find: findMissed });

/** All of them are sent again only where somebody says so. */
function toFilter({ noticeId, account, since, receiver }: Filter): Filter {
  if ((noticeId === undefined) === ((account ?? since ?? receiver) === undefined))
    throw new InvalidInput('noticeId: name one notice, or give --account, --since or --receiver');
  return { noticeId, account, since, receiver };
}

async function resend(session: Session, filter: Filter): Promise<number> {
  const { rows, hasMore } = await findMissed(session, filter);
  if (filter.noticeId !== undefined && rows.length === 0)
    throw new CliFailure('NotMissed', 'no such notice is kept to be sent again; see: faretrail notice list');
  const notices = await readEach(rows, async (one) => [
    { ...one, state: (await resendOne(session, one)) ? 'resent' : 'ended' },
  ]);
  const text = rowsText({ ...columns, now: 'state' }, notices);
  session.tell({ notices, hasMore }, notices.length === 0 ? 'No receiver has missed such a notice.' : text);
  if (hasMore) session.note(`There are more than those of ${limit} runs: repeat the command in a moment.`);
  return notices.every(({ state }) => state === 'resent') ? exitCodes.done : exitCodes.failed;
}

/** Has a missed notice sent again. False: the run that kept it has ended. */
export const resendOne = (
  { client }: Pick<Looking, 'client'>,
  { workflowId, number, missedAt }: Pick<Missed, 'workflowId' | 'number' | 'missedAt'>,
): Promise<boolean> =>
  runOf(client, workflowId).signal(resendRequestedSignal, { number, missedAt }, { withinMs: callTimeoutMs });

async function showSecrets(context: CommandContext, { origin }: { origin: string }): Promise<number> {
  const { origins, secrets, operator } = context.loadSettings(context.env).notify;
  if (secrets === null) throw new InvalidInput('FARETRAIL_NOTIFY_SECRETS: missing; set what the workers sign with');
  if (!origins.includes(origin) && (operator === null || new URL(operator.url).origin !== origin))
    context.note(`Workers send nothing to ${origin} until FARETRAIL_NOTIFY_ORIGINS names it.`);
  const shown = secrets.map(({ kid, key }) => ({ kid, secret: toWebhookSecret(receiverSecret(key, origin)) }));
  context.tell({ origin, secrets: shown }, shown.map(({ secret }) => secret).join('\n'));
  return exitCodes.done;
}
