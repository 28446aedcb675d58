import {
  ActivityFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  log,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { EarlierRunActivities } from '../../activities/runs.js';
import { type EarlierRun, goOnFrom, type RunLeft } from '../../domain/order/earlier-run.js';
import type { FollowOrderInput } from '../../domain/order/input.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import { promptRetry } from '../activity-options.js';
import { hasTooManySignals } from '../delivery-inbox.js';
import { leftByRunQuery } from '../messages.js';
import { carryNotices } from '../notify/url-notices.js';
import { isHistoryLong } from '../run-kit.js';
import { carryInbox, createOrderNotifier, type Follow, type FollowOrderProgress, isOver } from './state.js';

// Several runs may follow one order: a long run continues as new, and a new run continues one that ended by mistake.

/** Registers the query that a later run sends to this one, also after its end. */
export const leaveAnswer = (follow: Follow): void =>
  setHandler(leftByRunQuery, (): EarlierRun => ({ left: leftOf(follow), continues: follow.continues }));

const leftOf = ({ input, trail, inbox }: Follow): RunLeft => {
  const { claims, seenDeliveries, receivers, leftOut } = inbox;
  return { input, trail, claims, seenDeliveries, receivers, leftOut };
};

/** Any worker answers the query at once. A run that does not answer for so long has left nothing. */
const startToCloseTimeout = 12_000;
const scheduleToCloseTimeout = 30_000;
/** The longest chain of runs that continued each other without an answer. */
const maxRuns = 10;

/** Continues an earlier run that ended before the order did. If that run does not answer, this one follows the order from here on. */
export async function goOn(follow: Follow): Promise<void> {
  for (let runs = 0; follow.continues !== null; runs += 1) {
    const earlier = runs < maxRuns ? await readEarlier(follow, follow.continues) : null;
    if (earlier) takeOver(follow, earlier.left);
    follow.continues = earlier?.continues ?? null;
  }
}

async function readEarlier({ input: { account, orderId } }: Follow, runId: string): Promise<EarlierRun | null> {
  const { readEarlierRun } = proxyActivities<EarlierRunActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout,
    retry: promptRetry,
    summary: 'Go on where an earlier run ended',
  });
  try {
    const earlier = await readEarlierRun({ account, orderId, runId });
    if (!earlier) log.warn('the earlier run cannot be read; following starts again', { earlierRunId: runId });
    return earlier;
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('the earlier run does not answer; following starts again', { earlierRunId: runId });
    return null;
  }
}

function takeOver(follow: Follow, left: RunLeft): void {
  const { input, trail, ...inbox } = goOnFrom(left, leftOf(follow));
  follow.input = input;
  follow.trail = trail;
  Object.assign(follow.inbox, inbox);
  // This run has sent no notice, so a notifier with all receivers may replace its own.
  const { receivers } = follow.inbox;
  follow.notifier = createOrderNotifier({ receivers, told: null, notices: undefined, onUndelivered: follow.show });
}

/** This run makes a read for which a caller waits; the next run makes a read for a delivery. */
const isLong = ({ inbox, limits }: Follow): boolean => inbox.refreshing === 0 && isHistoryLong(limits.maxEvents);

/** Must the run continue as new? A read under way is made by the next run. */
export const mustContinue = (follow: Follow): boolean =>
  !isOver(follow) && (isLong(follow) || hasTooManySignals(follow.inbox, follow.limits));

type FollowOrder = (input: FollowOrderInput, progress: FollowOrderProgress) => Promise<OrderTrail>;

/** Continues as new if the run is long, unless this run must answer a caller. */
export async function continueIfLong(follow: Follow): Promise<void> {
  if (!mustContinue(follow)) return;
  const { inbox, notifier } = follow;
  await notifier.urls.hush();
  inbox.closing = hasTooManySignals(inbox, follow.limits);
  await condition(() => !mustContinue(follow) || (allHandlersFinished() && notifier.isQuiet()));
  inbox.closing = false;
  if (!mustContinue(follow)) return notifier.urls.resume();
  const { input, limits, trail, startedAt, notBefore, deliveryReads } = follow;
  const watched = follow.watched?.isTaken ? follow.watched : null;
  await continueAsNew<FollowOrder>(input, {
    limits,
    carried: {
      trail,
      startedAt,
      notBefore,
      inbox: carryInbox(inbox),
      deliveryReads,
      watched,
      ...carryNotices(notifier.urls),
    },
  });
}
