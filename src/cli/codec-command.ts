import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { createLogger } from '../observability/logging.js';
import { createPayloadCodec, type PayloadCodecError } from '../sealing/payload-codec.js';
import { exitCodes } from './cli-failure.js';
import { startCodecServer } from './codec-server.js';
import type { CommandContext, RunCommand } from './command-context.js';

const help = `
Decrypts payloads for the Temporal UI and CLI, with FARETRAIL_PAYLOAD_KEYS. It listens at
FARETRAIL_CODEC_HOST and FARETRAIL_CODEC_PORT, answers pages of FARETRAIL_CODEC_ORIGINS (the UI) and wants
FARETRAIL_CODEC_TOKEN as a bearer token. It needs no connection to Temporal. Ctrl-C or SIGTERM ends it.

Examples:
  faretrail codec
  temporal workflow show --workflow-id order/partner/42 --codec-endpoint http://127.0.0.1:8481`;

/** `codec`: the endpoint that decrypts for people. */
export function addCodecCommand(program: Command, run: RunCommand): void {
  program
    .command('codec')
    .description('decrypt payloads for the Temporal UI and CLI')
    .addHelpText('after', help)
    .action(run(serve));
}

async function serve(context: CommandContext): Promise<number> {
  const { payloads, codec: settings, logLevel } = context.loadSettings();
  if (payloads.keys === null)
    throw new InvalidInput('FARETRAIL_PAYLOAD_KEYS: missing; without keys nothing is decrypted');
  const logger = createLogger({ level: logLevel, process: 'codec' });
  const told = new Set<string>(); // a page of history may hold hundreds of the same kind
  const server = await startCodecServer({
    settings,
    codec: createPayloadCodec({ ...payloads, encrypts: true }),
    onUnreadable({ message }: PayloadCodecError) {
      if (told.has(message)) return;
      told.add(message);
      logger.warn(message);
    },
    onFailure: (error) => logger.error({ err: error }, 'a request failed'),
  });
  const asks = settings.token === null ? 'everybody on this machine' : 'whoever shows the token';
  context.tell(
    { url: server.url, origins: settings.origins, needsToken: settings.token !== null },
    `codec endpoint ${server.url} decrypts for ${asks}; pages of ${settings.origins.join(', ')}`,
  );
  await new Promise<void>((resolve) => context.onInterrupt(resolve));
  await server.close();
  return exitCodes.done;
}
