import type { RideResult, RideStanding } from '../../client/index.js';
import { toAccountName } from '../../domain/keys.js';
import { followedAgainText } from '../../domain/ride/ride.js';
import { fromRequestRideId, type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { toRunTimes } from '../../temporal/runs.js';
import { accountOption, limitOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandLine, inSession, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { listing, listRuns, newestRunsQuery, type RunFilter } from '../lists.js';
import { knownOf, trailText } from '../order/show.js';
import { type AskedRun, attentionText, decisionsOf, decisionsText, readRun, runText, watchRun } from '../runs.js';
import { type Paint, type Pair, pairsText, plain, toLines, utc } from '../text.js';

/** The run of a ride. Its `find` throws `CliFailure` NotRequested. */
export function rideRun(
  { rides, find }: Session,
  { account, requestId }: RequestRideKey,
): AskedRun<RideStanding, RideResult> {
  const ride = rides.getRide(account, requestId);
  return {
    async find() {
      const found = await find(requestRideId({ account, requestId }));
      if (found) return found;
      throw new CliFailure(
        'NotRequested',
        `Temporal remembers no ride ${requestId} of account ${account}; order it with: faretrail ride request ${account}`,
      );
    },
    ask: ride.status,
    result: ride.result,
  };
}

/** What the text of a ride begins with. */
const rideHead = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>, paint: Paint): string =>
  paint('strong', `Ride ${plain(requestId)} of account ${account}`);

/** The state of a ride, and the command that helps when the ride needs a person. */
export function standingText(standing: RideStanding, commandLine: CommandLine, paint: Paint): string {
  const { account, requestId, stage, orderId, status, outcome, attention, orderAttention, followedAgain } = standing;
  const pairs: Pair[] = [
    ['stage', stage],
    ['order', orderId === null ? '-' : plain(orderId)],
    ['status', plain(status ?? '-')],
    ['outcome', outcome],
    ['following', followedAgain && plain(followedAgainText(followedAgain))],
    ['ride', orderAttention && attentionText(orderAttention, paint)],
    ['workflow', plain(requestRideId({ account: toAccountName(account), requestId }))],
  ];
  const lines = [rideHead(standing, paint), pairsText(pairs, paint)];
  if (attention === null) return lines.join('\n');
  const resolve = plain(commandLine('ride', 'resolve', account, requestId));
  return [
    ...lines,
    attentionText(attention, paint),
    ...(attention.code === 'outcomeUnknown'
      ? [`  decide    ${resolve} --order ID | --try-again | --give-up REASON`]
      : []),
  ].join('\n');
}

/** How a ride ended: its outcome, the trail of its order and its receipt. */
export function resultText(result: RideResult, paint: Paint): string {
  const { outcome, trail, receipt } = result;
  const ended = `${rideHead(result, paint)}: ${outcome ?? 'ended'}`;
  const bill = receipt === null ? [] : ['', paint('faint', 'receipt'), toLines(JSON.stringify(receipt, null, 2))];
  return [ended, ...(trail === null ? [] : [trailText(trail, paint)]), ...bill].join('\n');
}

/** `ride show <account> <requestId>`: where a ride stands, or how it ended. */
export const addRideShow: AddCommand = (ride, run) => {
  const help = { does: 'show where a ride stands, or how it ended', examples: ['business trip-9'] };
  addCommand(ride, 'show <account> <requestId>', help).action(run(inSession(show)));
};

async function show(session: Session, key: RequestRideKey): Promise<number> {
  const { commandLine, paint } = session;
  const run = await readRun(session, rideRun(session, key));
  const { found, standing, result, failure } = run;
  const { workflowId, state, startedAt, endedAt } = found;
  const decisions = await decisionsOf(session, workflowId);
  const shown = standing ? standingText(standing, commandLine, paint) : result && resultText(result, paint);
  const text = `${runText(run, { shown, known: rideHead(key, paint) }, paint)}${decisionsText(decisions, paint)}`;
  session.tell({ workflowId, state, startedAt, endedAt, ride: standing, result, failure, decisions }, text);
  return exitCodes.done;
}

/** `ride watch <account> <requestId>`: each change as it comes, until the end. */
export const addRideWatch: AddCommand = (ride, run) => {
  const help = { does: 'print each change of a ride until it ends', examples: ['business trip-9'], more: watchHelp };
  addCommand(ride, 'watch <account> <requestId>', help).action(run(inSession(watchRide)));
};

const watchHelp = `
Ends with 0 when the ride has ended, with 1 when it failed. Ctrl-C ends the
watching (exit code 130); the ride goes on.`;

/** Prints each change of a ride until it ends, and gives the exit code. Throws `RunFailed`. */
export function watchRide(session: Session, key: RequestRideKey): Promise<number> {
  let said: string | undefined;
  return watchRun(session, rideRun(session, key), {
    farewell: 'No longer watched; the ride goes on.',
    print({ standing, result }) {
      if (result) session.tell({ change: 'ended', result }, resultText(result, session.paint));
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
    ...(orderId === null ? [] : [`order ${plain(orderId)}`]),
    ...(status === null ? [] : [plain(status)]),
    ...(followedAgain === undefined ? [] : [`its following ${plain(followedAgainText(followedAgain))}`]),
    ...[attention, orderAttention].flatMap((one) =>
      one ? [`attention ${plain(one.code)}: ${plain(one.message)}`] : [],
    ),
  ].join('  ');

/** `ride list`: rides by account. */
export const addRideList: AddCommand = (ride, run) => {
  const does = 'list the rides that were requested';
  addCommand(ride, 'list', { does, examples: ['--running', '--account business --limit 200'] })
    .option(...accountOption)
    .option('--running', 'only running ones')
    .option(...limitOption)
    .action(run(listRides));
};

// Request ids are not cut, since people copy them.
const listRides = listing({
  name: 'rides',
  empty: 'No ride fits.',
  find: (session, { limit, ...filter }: RunFilter & { limit: number }) =>
    listRuns(session, { query: newestRunsQuery('requestRide', filter), limit }, (info) => {
      const key = fromRequestRideId(info.workflowId);
      if (!key) return []; // the id is not ours, so this run fails by itself
      const { state, startedAt, endedAt } = toRunTimes(info);
      return [{ kind: 'ride', ...key, attention: knownOf(info).attention, state, startedAt, endedAt }];
    }),
  columns: {
    account: ({ account }) => account,
    ride: ({ requestId }) => requestId,
    attention: ({ attention }) => attention,
    'started (UTC)': ({ startedAt }) => utc(startedAt),
    'ended (UTC)': ({ endedAt }) => utc(endedAt),
    run: ({ state }) => state,
  },
});
