import { randomUUID } from 'node:crypto';
import type { AskOptions, RideHandle, RideStanding } from '../../client/index.js';
import { parseCallBody } from '../../contracts/call-bodies.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName, OrderId } from '../../domain/keys.js';
import type { Notify } from '../../domain/notify/receivers.js';
import {
  parseRequestRideInput,
  parseResolveRideInput,
  parseUpdateRideInput,
  type RequestRideInput,
  toRideRequestId,
} from '../../domain/ride/input.js';
import { type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { checked, notifyOption, orderOption, readJsonInput } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, callTimeoutMs, reading, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { unheardReceivers } from '../notice.js';
import { missingWorkers } from '../processes.js';
import { sendUpdate } from '../runs.js';
import { plain } from '../text.js';
import { resultText, rideRun, standingText, watchRide } from './view.js';

interface RequestGiven {
  account: AccountName;
  input: string;
  requestId?: string;
  receipt?: boolean;
  notify?: Notify[];
  watch?: boolean;
}

const requestHelp = `
The same request id is the same ride: requested twice, it is ordered once, for
as long as Temporal keeps its run.`;

/** `ride request <account>`: order a ride and follow it to its end. */
export const addRequest: AddCommand = (ride, run) => {
  const does = 'order a ride and follow it to its end';
  const examples = ['business --input order.json --request-id trip-9 --receipt --watch'];
  addCommand(ride, 'request <account>', { does, examples, more: requestHelp })
    .requiredOption('--input <file>', 'JSON body of the order; - for standard input')
    .option('--request-id <text>', 'your identity of this ride; a random one by default', checked(toRideRequestId))
    .option('--receipt', 'wait for the receipt after the end')
    .option(...notifyOption)
    .option('--watch', 'print each change until the ride ends')
    .action(run(reading(toRequest, request)));
};

function toRequest({ account, input: file, requestId = randomUUID(), receipt, notify, watch = false }: RequestGiven) {
  const order = readJsonInput(file);
  parseCallBody('createOrder', order);
  return { input: parseRequestRideInput({ account, requestId, order, receipt, notify }), watch };
}

type Request = ReturnType<typeof toRequest>;

async function request(session: Session, { input, watch }: Request): Promise<number> {
  const before = await session.find(requestRideId(input)); // only for the wording: the start itself is idempotent
  await session.within(callTimeoutMs, () => session.rides.request(input));
  if (before?.isOpen === false) {
    await tellEnded(session, input, 'This request id was used before; nothing was ordered now.');
    return exitCodes.done;
  }
  const start = before ? 'alreadyRequested' : 'started';
  const warnings = [...(await missingWorkers(session, input.account)), ...unheardReceivers(session, input.notify)];
  const { requestId } = input;
  session.tell(
    { workflowId: requestRideId(input), requestId, state: start, warnings },
    startText(session, input, before === undefined),
  );
  session.warn(warnings);
  return watch ? await watchRide(session, input) : exitCodes.done;
}

/** Shows how the ride ended, and why the command did nothing. */
async function tellEnded(session: Session, key: RequestRideKey, why: string): Promise<void> {
  const result = await session.within(callTimeoutMs, rideRun(session, key).result);
  const text = `${why}\n${resultText(result, session.paint)}`;
  session.tell({ workflowId: requestRideId(key), state: 'alreadyEnded', result }, text);
}

function startText({ commandLine, paint }: CommandContext, input: RequestRideInput, isNew: boolean): string {
  const { account, requestId } = input;
  const how = isNew ? 'Ordering' : 'Already ordered:';
  return [
    paint('strong', `${how} ride ${plain(requestId)} of account ${account}`),
    `  workflow   ${plain(requestRideId(input))}`,
    `  cancel it  ${plain(commandLine('ride', 'cancel', account, requestId))}`,
  ].join('\n');
}

/** `ride update <account> <requestId>` */
export const addUpdate: AddCommand = (ride, run) => {
  const does = 'change a ride, where the service allows it';
  addCommand(ride, 'update <account> <requestId>', { does, examples: ['business trip-9 --input change.json'] })
    .requiredOption('--input <file>', 'JSON object of the fields to change; - for standard input')
    .action(run(reading(toUpdate, change)));
};

/** `ride cancel <account> <requestId>` */
export const addCancel: AddCommand = (ride, run) => {
  const help = { does: 'cancel a ride at the service', examples: ['business trip-9'] };
  addCommand(ride, 'cancel <account> <requestId>', help).action(run(reading(toCancel, change)));
};

const resolveHelp = `
For a ride with attention outcomeUnknown: the answer to its create was lost, and
the service cannot tell a repeated create from a new one. First find out at the
service whether the order exists. If it does, --try-again orders a second ride.`;

/** `ride resolve <account> <requestId>`: decide a ride whose create had an unknown outcome. */
export const addResolve: AddCommand = (ride, run) => {
  const does = 'resolve a ride whose create had an unknown outcome';
  const examples = ['business trip-9 --order 7b21', 'business trip-9 --give-up "booked by phone"'];
  addCommand(ride, 'resolve <account> <requestId>', { does, examples, more: resolveHelp })
    .option(...orderOption('the service made this order: follow it'))
    .option('--try-again', 'the service made no order: order the ride now')
    .option('--give-up <reason>', 'end the ride without an order; 1 to 200 characters')
    .action(run(reading(toResolve, change)));
};

/** What changes a ride while it runs. */
interface Change {
  key: RequestRideKey;
  send(ride: RideHandle, inTime: AskOptions): Promise<RideStanding>;
}

function toUpdate({ input, ...key }: RequestRideKey & { input: string }): Change {
  const { order } = parseUpdateRideInput({ order: readJsonInput(input) });
  return { key, send: (ride, inTime) => ride.change(order, inTime) };
}

const toCancel = (key: RequestRideKey): Change => ({ key, send: (ride, inTime) => ride.cancel(inTime) });

interface ResolveGiven extends RequestRideKey {
  order?: OrderId;
  tryAgain?: boolean;
  giveUp?: string;
}

function toResolve({ order: orderId, tryAgain, giveUp: reason, ...key }: ResolveGiven): Change {
  const ways = [
    ...(orderId === undefined ? [] : [{ orderId }]),
    ...(tryAgain === undefined ? [] : [{ tryAgain }]),
    ...(reason === undefined ? [] : [{ giveUp: true, reason }]),
  ];
  if (ways.length !== 1) throw new InvalidInput('give one of --order, --try-again and --give-up');
  const resolution = parseResolveRideInput(ways[0]);
  return { key, send: (ride, inTime) => ride.resolve(resolution, inTime) };
}

/** Sends an update to the open run and shows the ride's state after it. */
async function change(session: Session, { key, send }: Change): Promise<number> {
  const found = await rideRun(session, key).find();
  return await sendUpdate(session, {
    found,
    send: (inTime) => send(session.rides.getRide(key.account, key.requestId), inTime),
    tell(standing) {
      const text = standingText(standing, session.commandLine, session.paint);
      session.tell({ workflowId: found.workflowId, state: 'done', ride: standing }, text);
    },
    async tellEnded() {
      await tellEnded(session, key, 'The ride has already ended.');
      return exitCodes.failed;
    },
  });
}
