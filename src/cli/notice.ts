import { InvalidInput } from '../domain/errors.js';
import { isUrlReceiver, type Notify } from '../domain/notify/receivers.js';
import { receiverSecret, toWebhookSecret } from '../notify-http/receiver-secret.js';
import type { CommandContext, Noun, Session } from './command.js';
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

const unheard = (origin: string): string => `Workers send nothing to ${origin} until FARETRAIL_NOTIFY_ORIGINS names it`;

/** A warning for each origin among the receivers that these settings do not allow. None where the settings allow no origin: then only those
 *  of the workers have them. */
export function unheardReceivers({ config }: Pick<Session, 'config'>, receivers: readonly Notify[] = []): string[] {
  const { origins } = config.notify;
  if (origins.length === 0) return [];
  const asked = new Set(receivers.filter(isUrlReceiver).map(({ url }) => new URL(url).origin));
  return [...asked].filter((origin) => !origins.includes(origin)).map(unheard);
}

async function showSecrets(context: CommandContext, { origin }: { origin: string }): Promise<number> {
  const { origins, secrets } = context.loadSettings(context.env).notify;
  if (secrets === null) throw new InvalidInput('FARETRAIL_NOTIFY_SECRETS: missing; set what the workers sign with');
  if (!origins.includes(origin)) context.note(`${unheard(origin)}.`);
  const shown = secrets.map(({ kid, key }) => ({ kid, secret: toWebhookSecret(receiverSecret(key, origin)) }));
  context.tell({ origin, secrets: shown }, shown.map(({ secret }) => secret).join('\n'));
  return exitCodes.done;
}
