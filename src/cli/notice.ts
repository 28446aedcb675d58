import { InvalidInput } from '../domain/errors.js';
import { receiverSecret, toWebhookSecret } from '../notify-http/sender.js';
import { findMissed, type Missed, type MissedFilter, mostRuns, resendOne } from '../temporal/notices.js';
import { readEach } from '../temporal/visibility.js';
import { accountOption, option, toDurationMs } from './arguments.js';
import { type CommandContext, listing, type Noun, reading, type Session } from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import type { Columns } from './text.js';

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
      act: (context, given: MissedFilter) => list(context, given),
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

// Ids are not cut, since people copy them.
const columns: Columns<Missed> = {
  ...{ 'missed (UTC)': 'missedAt', receiver: 'to' },
  answer: ({ status, reason }) => (status === null ? reason : `HTTP ${status}`),
  ...{ type: 'type', notice: 'id' },
};

const list = listing({ name: 'notices', empty: 'No receiver has missed a notice.', columns, find: findMissed });

/** All of them are sent again only where somebody says so. */
function toFilter({ noticeId, account, since, receiver }: MissedFilter): MissedFilter {
  if ((noticeId === undefined) === ((account ?? since ?? receiver) === undefined))
    throw new InvalidInput('noticeId: name one notice, or give --account, --since or --receiver');
  return { noticeId, account, since, receiver };
}

async function resend(session: Session, filter: MissedFilter): Promise<number> {
  const { rows, hasMore } = await findMissed(session, filter);
  if (filter.noticeId !== undefined && rows.length === 0)
    throw new CliFailure('NotMissed', 'no such notice is kept to be sent again; see: faretrail notice list');
  const notices = await readEach(rows, async (one) => [
    { ...one, state: (await resendOne(session, one)) ? 'resent' : 'ended' },
  ]);
  const text = session.table({ ...columns, now: 'state' }, notices);
  session.tell({ notices, hasMore }, notices.length === 0 ? 'No receiver has missed such a notice.' : text);
  if (hasMore) session.note(`There are more than those of ${mostRuns} runs: repeat the command in a moment.`);
  return notices.every(({ state }) => state === 'resent') ? exitCodes.done : exitCodes.failed;
}

async function showSecrets(context: CommandContext, { origin }: { origin: string }): Promise<number> {
  const { origins, secrets } = context.loadSettings(context.env).notify;
  if (secrets === null) throw new InvalidInput('FARETRAIL_NOTIFY_SECRETS: missing; set what the workers sign with');
  if (!origins.includes(origin))
    context.note(`Workers send nothing to ${origin} until FARETRAIL_NOTIFY_ORIGINS names it.`);
  const shown = secrets.map(({ kid, key }) => ({ kid, secret: toWebhookSecret(receiverSecret(key, origin)) }));
  context.tell({ origin, secrets: shown }, shown.map(({ secret }) => secret).join('\n'));
  return exitCodes.done;
}
