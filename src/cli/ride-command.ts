import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { parseCallBody } from '../contracts/call-bodies.js';
import { type AccountName, toAccountName } from '../domain/keys.js';
import type { Notify } from '../domain/notify.js';
import { parseRequestRideInput, type RequestRideInput, toRideRequestId } from '../domain/ride-input.js';
import { requestRideId } from '../domain/workflow-ids.js';
import { exitCodes } from './cli-failure.js';
import {
  type CommandContext,
  type CommonOptions,
  type RunCommand,
  type Session,
  withSession,
} from './command-context.js';
import { commandLine } from './command-line.js';
import { readJsonInput } from './json-input.js';
import { withNotifyOption } from './notify-option.js';
import { checked } from './order-command.js';
import { plain } from './plain-text.js';
import { type RideStart, readRideResult, startRide } from './ride-run.js';
import { resultText } from './ride-view.js';
import { watchRide } from './ride-watch.js';
import { missingWorkers } from './workers-alive.js';

interface RideOptions extends CommonOptions {
  input: string;
  requestId?: string;
  receipt?: boolean;
  notify?: Notify[];
  watch?: boolean;
}

const help = `
The same request id is the same ride: asked for twice it is ordered once.

Examples:
  faretrail ride business --input order.json --request-id trip-9 --receipt --watch
  faretrail cancel-ride business trip-9`;

/** `ride <account>`: order a ride and follow it to its end. */
export function addRideCommand(program: Command, run: RunCommand): void {
  withNotifyOption(program.command('ride'))
    .argument('<account>', 'name of a business account', checked(toAccountName))
    .description('order a ride and follow it to its end')
    .requiredOption('--input <file>', 'file with the JSON body of the order; - for standard input')
    .option('--request-id <text>', 'your identity of this ride; a random one unless given', checked(toRideRequestId))
    .option('--receipt', 'wait for the receipt after the end')
    .option('--watch', 'watch it until it ends')
    .addHelpText('after', help)
    .action(
      run<[AccountName], RideOptions>(async (context, [account], options) => {
        const input = toInput(account, options); // before any connection
        return await withSession(context, (session) => ride(context, session, input, options.watch === true));
      }),
    );
}

function toInput(account: AccountName, { input, requestId, receipt, notify }: RideOptions): RequestRideInput {
  const order = readJsonInput(input);
  parseCallBody('createOrder', order);
  return parseRequestRideInput({ account, requestId: requestId ?? randomUUID(), order, receipt, notify });
}

async function ride(
  context: CommandContext,
  session: Session,
  input: RequestRideInput,
  watch: boolean,
): Promise<number> {
  const start = await startRide(session, input);
  if (start === 'alreadyEnded') return await tellEnded(context, session, input);
  const warnings = await missingWorkers(session, input.account);
  const { requestId } = input;
  context.tell(
    { workflowId: requestRideId(input), requestId, state: start, warnings },
    startText(context, input, start),
  );
  for (const warning of warnings) context.note(`${context.paint('bad', 'warning:')} ${warning}`);
  return watch ? await watchRide(context, session, input) : exitCodes.done;
}

/** Never a second ride of one request id; how it ended is what the caller wanted. */
async function tellEnded(context: CommandContext, session: Session, input: RequestRideInput): Promise<number> {
  const result = await readRideResult(session, input);
  const text = `This request id was used before; nothing was ordered now.\n${resultText(result, context.paint)}`;
  context.tell({ workflowId: requestRideId(input), state: 'alreadyEnded', result }, text);
  return exitCodes.done;
}

function startText({ env, paint }: CommandContext, input: RequestRideInput, start: RideStart): string {
  const { account, requestId } = input;
  const how = start === 'started' ? 'Ordering' : 'Already ordered:';
  return [
    paint('strong', `${how} ride ${plain(requestId)} of account ${account}`),
    `  workflow  ${plain(requestRideId(input))}`,
    `  cancel it ${plain(commandLine(env, 'cancel-ride', account, requestId))}`,
  ].join('\n');
}
