import { randomUUID } from 'node:crypto';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { AskOptions, RideHandle, RideResult, RideStanding } from '../client/index.js';
import { parseCallBody } from '../contracts/call-bodies.js';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, type OrderId, toAccountName } from '../domain/keys.js';
import type { Notify } from '../domain/notify/receivers.js';
import {
  parseRequestRideInput,
  parseResolveRideInput,
  parseUpdateRideInput,
  toRideRequestId,
} from '../domain/ride/input.js';
import { followedAgainText, priceText } from '../domain/ride/ride.js';
import { shellWord } from '../domain/shell-word.js';
import { fromRequestRideId, type RequestRideKey, requestRideId } from '../domain/workflow-ids.js';
import { toRunTimes } from '../temporal/runs.js';
import { listRuns, type RunFilter, runsQuery } from '../temporal/visibility.js';
import { accountOption, inputOption, limitOption, notifyOption, option, orderOption, required } from './arguments.js';
import { type CommandLine, inSession, listing, type Noun, reading, type Session } from './command.js';
import { CliFailure, exitCodes, type RunFailure } from './failure.js';
import { startingRun } from './known-account.js';
import { knownOf, trailText } from './order/view.js';
import { attentionText, type ShownRun, sendUpdate, showRun, tellStart, toldAnswer, watchRun } from './runs.js';
import { cardText, paint, plain, toLines } from './text.js';

/** The run of a ride. Its `find` throws `CliFailure` NotRequested. */
function rideRun({ rides, get, commandLine }: Session, { account, requestId }: RequestRideKey) {
  const ride = rides.getRide(account, requestId);
  const message = `Temporal remembers no ride ${requestId} of account ${account}; order it with: faretrail ride request ${account}`;
  return {
    find: () => get(ride.workflowId, new CliFailure('NotRequested', message)),
    ask: ride.status,
    result: ride.result,
    toJson: ({ standing, result }) => ({ ride: standing, result }),
    toText: ({ standing, result }) => (standing ? standingText(standing, commandLine) : result && resultText(result)),
    knownText: () => paint('strong', nameOf({ account, requestId })),
  } satisfies ShownRun<RideStanding, RideResult>;
}

const nameOf = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>): string =>
  `Ride ${plain(requestId)} of account ${account}`;

const requestHelp = `
The same request id is the same ride: requested twice, it is ordered once, for
as long as Temporal keeps its run.`;

const resolveHelp = `
For a ride with attention outcomeUnknown: an attempt to place its order may have
worked. First check with the service if the order exists. If it does,
--try-again may place a second one: two cars, and you pay for both.`;

const watchHelp = `
Ends with 0 when the ride has ended, with 1 when it failed. Ctrl-C ends the
watching (exit code 130); the ride goes on.`;

/** `ride …` */
export const rideCommands: Noun = {
  noun: 'ride',
  does: 'order rides at the service, change and cancel them',
  verbs: [
    startingRun({
      form: 'request <account>',
      does: 'order a ride and follow it to its end',
      examples: ['business --input order.json --request-id trip-9 --quote --receipt --watch'],
      more: requestHelp,
      options: [
        required(inputOption('JSON body of the order')),
        option('--request-id <text>', 'your identity of this ride; a random one by default', toRideRequestId),
        option('--quote', 'ask for the price just before the order, and order with that quote'),
        option('--receipt', 'wait for the receipt after the end'),
        notifyOption(),
        option('--watch', 'print each change until the ride ends'),
      ],
      act: reading(toRequest, request),
    }),
    {
      form: 'show <account> <requestId>',
      does: 'show where a ride stands, or how it ended',
      examples: ['business trip-9'],
      act: inSession((session, key: RequestRideKey) => showRun(session, rideRun(session, key))),
    },
    {
      form: 'watch <account> <requestId>',
      does: 'print each change of a ride until it ends',
      examples: ['business trip-9'],
      more: watchHelp,
      act: inSession(watchRide),
    },
    {
      form: 'update <account> <requestId>',
      does: 'change a ride, where the service allows it',
      examples: ['business trip-9 --input change.json'],
      options: [required(inputOption('JSON object of the fields to change'))],
      act: reading(toUpdate, (session, { order, ...key }) =>
        change(session, key, (ride, inTime) => ride.change(order, inTime)),
      ),
    },
    {
      form: 'cancel <account> <requestId>',
      does: 'cancel a ride at the service',
      examples: ['business trip-9'],
      act: inSession((session, key: RequestRideKey) =>
        change(session, key, (ride, inTime) => ride.cancel(inTime), notCancelled),
      ),
    },
    {
      form: 'resolve <account> <requestId>',
      does: 'resolve a ride whose create had an unknown outcome',
      examples: ['business trip-9 --order 7b21', 'business trip-9 --give-up "booked by phone"'],
      more: resolveHelp,
      options: [
        orderOption('the service made this order: follow it'),
        option('--try-again', 'the service made no order: order the ride now'),
        option('--give-up <reason>', 'end the ride without an order; 1 to 200 characters'),
      ],
      act: reading(toResolution, (session, { resolution, ...key }) =>
        change(session, key, (ride, inTime) => ride.resolve(resolution, inTime), notResolved),
      ),
    },
    {
      form: 'list',
      does: 'list the rides that were requested',
      examples: ['--running', '--account business --limit 200'],
      options: [accountOption(), option('--running', 'only running ones'), limitOption()],
      act: listing({
        name: 'rides',
        empty: 'No ride fits.',
        find: (session, { limit, ...filter }: RunFilter & { limit: number }) =>
          listRuns(session, runsQuery('requestRide', filter), limit, toListedRide),
        // Request ids are not cut, since people copy them.
        columns: {
          ...{ account: 'account', ride: 'requestId', attention: 'attention' },
          ...{ 'started (UTC)': 'startedAt', 'ended (UTC)': 'endedAt', run: 'state' },
        },
      }),
    },
  ],
};

interface RequestGiven {
  account: AccountName;
  input: unknown;
  requestId?: string;
  quote?: boolean;
  receipt?: boolean;
  notify?: Notify[];
  watch?: boolean;
}

function toRequest({ input: order, requestId = randomUUID(), watch = false, ...given }: RequestGiven) {
  parseCallBody('createOrder', order);
  const { account, quote, receipt, notify } = given;
  return { input: parseRequestRideInput({ account, requestId, order, quote, receipt, notify }), watch };
}

async function request(session: Session, { input, watch }: ReturnType<typeof toRequest>): Promise<number> {
  const workflowId = requestRideId(input);
  const before = await session.find(workflowId); // only for the wording: the start itself is idempotent
  await session.inTime(() => session.rides.request(input));
  if (before?.isOpen === false) {
    await tellEnded(session, input, 'This request id was used before; nothing was ordered now.');
    return exitCodes.done;
  }
  const { account, requestId } = input;
  const how = before ? 'Already ordered:' : 'Ordering';
  await tellStart(session, {
    json: { workflowId, requestId, state: before ? 'alreadyRequested' : 'started' },
    text: [
      paint('strong', `${how} ride ${plain(requestId)} of account ${account}`),
      `  workflow   ${plain(workflowId)}`,
      `  cancel it  ${plain(session.commandLine('ride', 'cancel', account, requestId))}`,
    ].join('\n'),
    account,
  });
  return watch ? await watchRide(session, input) : exitCodes.done;
}

/** Shows how the ride ended, and why the command did nothing. */
async function tellEnded(session: Session, key: RequestRideKey, why: string): Promise<void> {
  const result = await session.inTime(rideRun(session, key).result);
  session.tell({ workflowId: requestRideId(key), state: 'alreadyEnded', result }, `${why}\n${resultText(result)}`);
}

function toUpdate({ input: order, ...key }: RequestRideKey & { input: unknown }) {
  return { ...key, ...parseUpdateRideInput({ order }) };
}

interface ResolveGiven extends RequestRideKey {
  order?: OrderId;
  tryAgain?: boolean;
  giveUp?: string;
}

function toResolution({ order: orderId, tryAgain, giveUp: reason, ...key }: ResolveGiven) {
  const ways = [
    ...(orderId === undefined ? [] : [{ orderId }]),
    ...(tryAgain === undefined ? [] : [{ tryAgain }]),
    ...(reason === undefined ? [] : [{ giveUp: true, reason }]),
  ];
  if (ways.length !== 1) throw new InvalidInput('give one of --order, --try-again and --give-up');
  return { ...key, resolution: parseResolveRideInput(ways[0]) };
}

/** The service has accepted the call, and a read has to show that the order is cancelled. */
function notCancelled({ outcome }: RideStanding): RunFailure | null {
  if (outcome === 'cancelled' || outcome === 'withdrawn') return null;
  const message =
    outcome === null
      ? 'the service accepted the cancellation, but the order does not read cancelled yet. Show the ride in a moment.'
      : `the ride has ended as ${outcome}.`;
  return { code: 'NotCancelled', message };
}

/** Another attempt may leave the outcome unknown again. */
const notResolved = ({ attention }: RideStanding): RunFailure | null =>
  attention?.code === 'outcomeUnknown' ? { code: 'OutcomeUnknown', message: attention.message } : null;

/**
 * Sends an update to the open run and shows the ride. `unlessDone` gives the reason if the update had no effect yet.
 */
async function change(
  session: Session,
  key: RequestRideKey,
  send: (ride: RideHandle, inTime: AskOptions) => Promise<RideStanding>,
  unlessDone: (ride: RideStanding) => RunFailure | null = () => null,
): Promise<number> {
  const found = await rideRun(session, key).find();
  return await sendUpdate(session, {
    found,
    send: (inTime) => send(session.rides.getRide(key.account, key.requestId), inTime),
    tell(ride) {
      const failure = unlessDone(ride);
      const { text, exitCode } = toldAnswer(failure, standingText(ride, session.commandLine));
      session.tell({ workflowId: found.workflowId, state: failure ? 'notDone' : 'done', ride, failure }, text);
      return exitCode;
    },
    async tellEnded() {
      await tellEnded(session, key, 'The ride has already ended.');
      return exitCodes.failed;
    },
  });
}

/** The state of a ride, and the command that helps when the ride needs a person. */
export function standingText(standing: RideStanding, commandLine: CommandLine): string {
  const { account, requestId, stage, orderId, status, outcome, attention, orderAttention, followedAgain } = standing;
  const { price = null, currency = null } = standing;
  const card = cardText(nameOf(standing), [
    ['stage', stage],
    ['order', plain(orderId ?? '-')],
    ['status', plain(status ?? '-')],
    ['outcome', outcome],
    ['price', price === null ? null : plain(priceText({ price, currency }))],
    ['following', followedAgain && plain(followedAgainText(followedAgain))],
    ['ride', orderAttention && attentionText(orderAttention)],
    ['workflow', plain(requestRideId({ account: toAccountName(account), requestId }))],
  ]);
  if (attention === null) return card;
  const resolve = plain(commandLine('ride', 'resolve', account, requestId));
  const named = plain(shellWord(standing.suggestedOrderId ?? 'ID'));
  const decide = `  decide    ${resolve} --order ${named} | --try-again | --give-up REASON`;
  return [card, attentionText(attention), ...(attention.code === 'outcomeUnknown' ? [decide] : [])].join('\n');
}

/** How a ride ended: its outcome, the trail of its order and its receipt. */
function resultText(result: RideResult): string {
  const { outcome, trail, receipt } = result;
  const bill =
    receipt === null
      ? []
      : [
          '',
          paint('faint', 'receipt (provisional: the service may recalculate it for days)'),
          toLines(JSON.stringify(receipt, null, 2)),
        ];
  const ended = `${paint('strong', nameOf(result))}: ${outcome ?? 'ended'}`;
  return [ended, ...(trail === null ? [] : [trailText(trail)]), ...bill].join('\n');
}

/** Prints each change of a ride until it ends, and gives the exit code. Throws `RunFailed`. */
function watchRide(session: Session, key: RequestRideKey): Promise<number> {
  let said: string | undefined;
  return watchRun(session, rideRun(session, key), {
    farewell: 'No longer watched; the ride goes on.',
    print({ standing, result }) {
      if (result) session.tell({ change: 'ended', result }, resultText(result));
      if (!standing) return;
      const line = lineOf(standing);
      if (line !== said) session.tell({ change: 'ride', ...standing }, line);
      said = line;
    },
  });
}

const lineOf = ({ stage, orderId, status, attention, orderAttention, followedAgain }: RideStanding): string =>
  [
    stage,
    orderId === null ? '' : `order ${plain(orderId)}`,
    plain(status ?? ''),
    followedAgain ? `its following ${plain(followedAgainText(followedAgain))}` : '',
    ...[attention, orderAttention].map((one) => (one ? `attention ${plain(one.code)}: ${plain(one.message)}` : '')),
  ]
    .filter((part) => part !== '')
    .join('  ');

function toListedRide(info: WorkflowExecutionInfo) {
  const key = fromRequestRideId(info.workflowId);
  if (!key) return []; // the id is not ours, so this run fails by itself
  const { state, startedAt, endedAt } = toRunTimes(info);
  return [{ kind: 'ride', ...key, attention: knownOf(info).attention, state, startedAt, endedAt }];
}
