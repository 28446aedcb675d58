import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../domain/keys.js';
import type { RideStanding } from '../domain/requested-ride.js';
import {
  parseResolveRideInput,
  parseUpdateRideInput,
  type RideResolution,
  toRideRequestId,
} from '../domain/ride-input.js';
import { type RequestRideKey, requestRideId } from '../domain/workflow-ids.js';
import { cancelRideUpdate, resolveRideUpdate, updateRideUpdate } from '../workflows/request-ride-messages.js';
import { CliFailure, exitCodes } from './cli-failure.js';
import { type CommandContext, type CommonOptions, type RunCommand, withSession } from './command-context.js';
import { readJsonInput } from './json-input.js';
import { checked } from './order-command.js';
import { getRide, readRideResult, rideHandle, toRideFailure } from './ride-run.js';
import { resultText, standingText } from './ride-view.js';
import { answerWithinMs, sendUpdate } from './sent-update.js';

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
