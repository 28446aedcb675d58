import type { WorkflowExecutionInfo } from '@temporalio/client';
import { fromRequestRideId, type RequestRideKey } from '../../domain/workflow-ids.js';
import { type RunTimes, toRunTimes } from '../../temporal/runs.js';
import { accountOption, limitOption } from '../arguments.js';
import { type AddCommand, addCommand, inSession, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { decisionsOf, decisionsText, knownOf, runLine } from '../order/show.js';
import { clip, type Paint, plain, tableText, utc } from '../text.js';
import { listRuns, moreText, newestRunsQuery, type RunFilter } from '../visibility.js';
import { type RideRun, readRideRun, resultText, rideHead, standingText, watchRide } from './view.js';

/** `ride show <account> <requestId>`: where a ride stands, or how it ended. */
export const addRideShow: AddCommand = (ride, run) => {
  const help = { does: 'show where a ride stands, or how it ended', examples: ['business trip-9'] };
  addCommand(ride, 'show <account> <requestId>', help).action(run(inSession(show)));
};

async function show(session: Session, key: RequestRideKey): Promise<number> {
  const run = await readRideRun(session, key);
  const { standing: ride, result, failure } = run;
  const { workflowId, state, startedAt, endedAt } = run.found;
  const decisions = await decisionsOf(session, workflowId);
  const text = `${runText(session, key, run)}${decisionsText(decisions, session.paint)}`;
  session.tell({ workflowId, state, startedAt, endedAt, ride, result, failure, decisions }, text);
  return exitCodes.done;
}

function runText({ commandLine, paint }: Session, key: RequestRideKey, run: RideRun): string {
  const { found, standing, result, failure } = run;
  const line = paint('faint', runLine(found));
  if (standing) return `${standingText(standing, commandLine, paint)}\n\n${line}`;
  if (result) return `${resultText(result, paint)}\n\n${line}`;
  const why = failure
    ? `${failure.code}: ${plain(failure.message)}`
    : 'No worker answered. To see where the ride stands, start a worker: npm run worker';
  return [rideHead(key, paint), line, '', paint('bad', why)].join('\n');
}

/** `ride watch <account> <requestId>`: each change as it comes, until the end. */
export const addRideWatch: AddCommand = (ride, run) => {
  const help = { does: 'print each change of a ride until it ends', examples: ['business trip-9'], more: watchHelp };
  addCommand(ride, 'watch <account> <requestId>', help).action(run(inSession(watchRide)));
};

const watchHelp = `
Ends with 0 when the ride has ended, with 1 when it failed. Ctrl-C ends the
watching (exit code 130); the ride goes on.`;

/** `ride list`: rides by account. */
export const addRideList: AddCommand = (ride, run) => {
  const does = 'list the rides that were requested';
  addCommand(ride, 'list', { does, examples: ['--running', '--account business --limit 200'] })
    .option(...accountOption)
    .option('--running', 'only running ones')
    .option(...limitOption)
    .action(run(inSession(list)));
};

async function list(session: Session, { limit, ...filter }: RunFilter & { limit: number }) {
  const { found, hasMore } = await listRuns(session, newestRunsQuery('requestRide', filter), limit);
  const rides = found.flatMap(toListedRide);
  session.tell({ rides, hasMore }, ridesText(rides, session.paint));
  if (hasMore) session.note(moreText(limit));
  return exitCodes.done;
}

/** One ride of the list. */
interface ListedRide extends Omit<RunTimes, 'isOpen'>, RequestRideKey {
  kind: 'ride';
  attention: string | null;
}

function toListedRide(info: WorkflowExecutionInfo): ListedRide[] {
  const key = fromRequestRideId(info.workflowId);
  if (!key) return []; // the id is not ours, so this run fails by itself
  const { state, startedAt, endedAt } = toRunTimes(info);
  return [{ kind: 'ride', ...key, attention: knownOf(info).attention, state, startedAt, endedAt }];
}

/** The list as a table. Request ids are not cut, since people copy them. */
export function ridesText(rides: readonly ListedRide[], paint: Paint): string {
  if (rides.length === 0) return 'No ride fits.';
  const rows = rides.map(({ account, requestId, attention, startedAt, endedAt, state }) => [
    clip(account, 16),
    plain(requestId),
    attention === null ? '-' : paint('bad', clip(attention, 20)),
    utc(startedAt),
    utc(endedAt),
    clip(state, 10),
  ]);
  return tableText(['account', 'ride', 'attention', 'started (UTC)', 'ended (UTC)', 'run'], rows, paint);
}
