import type { RideResult, RideStanding } from '../../client/index.js';
import { toAccountName } from '../../domain/keys.js';
import { followedAgainText } from '../../domain/ride/ride.js';
import { type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { failureBehind } from '../../temporal/run-errors.js';
import type { FoundRun } from '../../temporal/runs.js';
import { type CommandLine, callTimeoutMs, queryTimeoutMs, type Session } from '../command.js';
import { CliFailure, type RunFailure, tellFailure, toRunFailure } from '../failure.js';
import { attentionText, trailText } from '../order/show.js';
import { type Paint, type Pair, pairsText, plain, toLines } from '../text.js';
import { watchRun } from '../watching.js';

/** The run of a ride, open or ended. Throws `CliFailure` NotRequested. */
export async function getRide(session: Session, { account, requestId }: RequestRideKey): Promise<FoundRun> {
  const found = await session.find(requestRideId({ account, requestId }));
  if (found) return found;
  throw new CliFailure(
    'NotRequested',
    `Temporal remembers no ride ${requestId} of account ${account}; order it with: faretrail ride request ${account}`,
  );
}

/** The run of a ride. Open: `standing` is null when no worker answered. Ended: `result` is null when the run failed. */
export interface RideRun {
  found: FoundRun;
  standing: RideStanding | null;
  result: RideResult | null;
  failure: RunFailure | null;
}

/** The run of a ride with where it stands, or how it ended. Throws `CliFailure` NotRequested. */
export async function readRideRun(session: Session, key: RequestRideKey): Promise<RideRun> {
  const found = await getRide(session, key);
  const ride = session.rides.getRide(key.account, key.requestId);
  const run: RideRun = { found, standing: null, result: null, failure: null };
  if (found.isOpen) return { ...run, standing: await ride.status({ withinMs: queryTimeoutMs }).catch(() => null) };
  try {
    return { ...run, result: await session.within(callTimeoutMs, () => ride.result()) };
  } catch (error) {
    const failure = failureBehind(error);
    if (!failure) throw error;
    return { ...run, failure: toRunFailure(failure) };
  }
}

/** The result of a ride that has ended. Throws `RunFailed`, with what the service said. */
export const readRideResult = ({ rides, within }: Session, key: RequestRideKey): Promise<RideResult> =>
  within(callTimeoutMs, () => rides.getRide(key.account, key.requestId).result()).catch(tellFailure);

/** What the text of a ride begins with. */
export const rideHead = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>, paint: Paint): string =>
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

/** Prints each change of a ride until it ends, and gives the exit code. Throws `RunFailed`. */
export function watchRide(session: Session, key: RequestRideKey): Promise<number> {
  let said: string | undefined;
  return watchRun(session, {
    farewell: 'No longer watched; the ride goes on.',
    find: () => getRide(session, key),
    async ask({ isOpen }): Promise<{ standing: RideStanding } | { result: RideResult } | null> {
      if (!isOpen) return { result: await readRideResult(session, key) };
      const status = session.rides.getRide(key.account, key.requestId).status({ withinMs: callTimeoutMs });
      return await status.then((standing) => ({ standing })).catch(() => null);
    },
    print(answer) {
      if ('result' in answer) {
        session.tell({ change: 'ended', ...answer }, resultText(answer.result, session.paint));
        return;
      }
      const line = lineOf(answer.standing);
      if (line !== said) session.tell({ change: 'ride', ...answer.standing }, line);
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
