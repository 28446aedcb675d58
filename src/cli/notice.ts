import { InvalidInput } from '../domain/errors.js';
import { receiverSecret, toWebhookSecret } from '../notify-http/receiver-secret.js';
import type { CommandContext, Noun } from './command.js';
import { exitCodes } from './failure.js';

const help = `
Each origin has a secret of its own, made from FARETRAIL_NOTIFY_SECRETS: its
holder cannot sign for another. While secrets change, the command shows one for
each, the one that stays first; a receiver needs one of them.`;

/** `notice …` */
export const noticeCommands: Noun = {
  noun: 'notice',
  does: 'what receivers of notices need',
  verbs: [
    {
      form: 'secret <origin>',
      does: 'show the secret that a receiver at this origin verifies with',
      examples: ['https://orders.example.com'],
      more: help,
      act: showSecrets,
    },
  ],
};

async function showSecrets(context: CommandContext, { origin }: { origin: string }): Promise<number> {
  const { origins, secrets } = context.loadSettings(context.env).notify;
  if (secrets === null) throw new InvalidInput('FARETRAIL_NOTIFY_SECRETS: missing; set what the workers sign with');
  if (!origins.includes(origin))
    context.note(`Workers send nothing to ${origin} until FARETRAIL_NOTIFY_ORIGINS names it.`);
  const shown = secrets.map(({ kid, key }) => ({ kid, secret: toWebhookSecret(receiverSecret(key, origin)) }));
  context.tell({ origin, secrets: shown }, shown.map(({ secret }) => secret).join('\n'));
  return exitCodes.done;
}
