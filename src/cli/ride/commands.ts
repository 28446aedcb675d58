import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Command } from 'commander';
import { parseCallBody } from '../../contracts/call-bodies.js';
import { InvalidInput } from '../../domain/errors.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../../domain/keys.js';
import type { Notify } from '../../domain/notify/receivers.js';
import {
  parseRequestRideInput,
  parseResolveRideInput,
  parseUpdateRideInput,
  type RequestRideInput,
  type RideResolution,
  toRideRequestId,
} from '../../domain/ride/input.js';
import type { RideStanding } from '../../domain/ride/ride.js';
import { type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { cancelRideUpdate, resolveRideUpdate, updateRideUpdate } from '../../workflows/messages.js';
import { checked, readJsonInput, withNotifyOption } from '../arguments.js';
import {
  type CommandContext,
  type CommonOptions,
  commandLine,
  type RunCommand,
  type Session,
  withSession,
} from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { plain } from '../text.js';
import { missingWorkers } from '../workers-alive.js';
import { getRide, type RideStart, readRideResult, rideHandle, startRide, toRideFailure } from './run.js';
import { resultText, standingText, watchRide } from './view.js';

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

type RideArguments = [account: AccountName, requestId: string];
type Send = (handle: ReturnType<typeof rideHandle>) => Promise<RideStanding>;

const withRideArguments = (command: Command): Command =>
  command
    .argument('<account>', 'name of the account, such as business', checked(toAccountName))
    .argument('<requestId>', 'your identity of the ride', checked(toRideRequestId));

/** `cancel-ride` and `update-ride`: what changes a ride while it runs. */
export function addRideChanges(program: Command, run: RunCommand): void {
  withRideArguments(program.command('cancel-ride'))
    .description('cancel the order of a ride')
    .addHelpText('after', '\nExample:\n  faretrail cancel-ride business trip-9')
    .action(
      run<RideArguments>((context, given) => change(context, given, (ride) => ride.executeUpdate(cancelRideUpdate))),
    );
  withRideArguments(program.command('update-ride'))
    .description('change a ride, where the service allows it')
    .requiredOption('--input <file>', 'file with the JSON fields to change; - for standard input')
    .addHelpText('after', '\nExample:\n  faretrail update-ride business trip-9 --input change.json')
    .action(
      run<RideArguments, CommonOptions & { input: string }>((context, given, { input }) => {
        const args: [ReturnType<typeof parseUpdateRideInput>] = [parseUpdateRideInput({ order: readJsonInput(input) })];
        return change(context, given, (ride) => ride.executeUpdate(updateRideUpdate, { args }));
      }),
    );
}

interface ResolveOptions extends CommonOptions {
  order?: OrderId;
  tryAgain?: boolean;
  giveUp?: string;
}

const resolveHelp = `
For a ride that stands at outcomeUnknown: the answer to its create was lost, and the service does not
know a repeated create by its id. Look there whether the order was made. Trying again orders a second
ride where it was.

Examples:
  faretrail resolve-ride business trip-9 --order 7b21
  faretrail resolve-ride business trip-9 --give-up "booked by phone"`;

/** `resolve-ride`: a person's word on a create whose outcome nobody knows. */
export function addResolveRideCommand(program: Command, run: RunCommand): void {
  withRideArguments(program.command('resolve-ride'))
    .description('decide whether a ride was ordered')
    .option(
      '--order <id>',
      'it was ordered: this is its order',
      checked((text) => toOrderId(text, '--order')),
    )
    .option('--try-again', 'it was not ordered: order it now')
    .option('--give-up <reason>', 'end it; 1 to 200 characters')
    .addHelpText('after', resolveHelp)
    .action(
      run<RideArguments, ResolveOptions>((context, given, options) => {
        const args: [RideResolution] = [toResolution(options)]; // before any connection
        return change(context, given, (ride) => ride.executeUpdate(resolveRideUpdate, { args }));
      }),
    );
}

function toResolution({ order, tryAgain, giveUp }: ResolveOptions): RideResolution {
  const given = [order, tryAgain, giveUp].filter((option) => option !== undefined);
  if (given.length !== 1) throw new InvalidInput('give one of --order, --try-again and --give-up');
  if (giveUp !== undefined) return parseResolveRideInput({ giveUp: true, reason: giveUp });
  return parseResolveRideInput(order === undefined ? { tryAgain } : { orderId: order });
}

/** Sends an update to the open run and shows where the ride stands then. */
function change(context: CommandContext, [account, requestId]: RideArguments, send: Send): Promise<number> {
  return withSession(context, async (session) => {
    const key: RequestRideKey = { account, requestId };
    const tellEnded = async (): Promise<number> => {
      const result = await readRideResult(session, key);
      const text = `The ride has already ended.\n${resultText(result, context.paint)}`;
      context.tell({ workflowId: requestRideId(key), state: 'alreadyEnded', result }, text);
      return exitCodes.failed;
    };
    if (!(await getRide(session, key)).isOpen) return await tellEnded();
    try {
      const standing = await sendUpdate(session, () => send(rideHandle(session, key)), noAnswer);
      const text = standingText(standing, context.env, context.paint);
      context.tell({ workflowId: requestRideId(key), state: 'done', ride: standing }, text);
      return exitCodes.done;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return await tellEnded(); // ended meanwhile
      throw error instanceof WorkflowUpdateFailedError ? toRideFailure(error.cause) : error;
    }
  });
}

async function noAnswer(): Promise<CliFailure> {
  const message = `no answer within ${answerWithinMs / 1_000} s, but the ride has been asked: the service may be slow`;
  return new CliFailure('NoAnswer', message);
}
