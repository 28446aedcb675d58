import {
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
import { carryInbox } from './inbox.js';
import { createOrderNotifier, type Follow, type FollowOrderProgress, isOver } from './state.js';

// One order may be followed by several runs: one that has grown long continues as new, and one that ended by mistake is gone on from.

/** Registers what a later run asks this one, also after its end. */
export const leaveAnswer = (follow: Follow): void =>
  setHandler(leftByRunQuery, (): EarlierRun => ({ left: leftOf(follow), continues: follow.continues }));

const leftOf = ({ input, trail, inbox }: Follow): RunLeft => {
  const { claims, seenDeliveries, receivers, leftOut } = inbox;
  return { input, trail, claims, seenDeliveries, receivers, leftOut };
};

/** A query that some worker answers at once. Who cannot be asked for so long has left nothing. */
const startToCloseTimeout = 12_000;
const scheduleToCloseTimeout = 30_000;
/** Runs that went on from each other and never heard an answer. */
const maxRuns = 10;

/**
 * Goes on where an earlier run ended without an end at the service. What that run can no longer say is done without: the order is
 * followed all the same. Everybody is told where the order stands, since an end of following was perhaps told before.
 */
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
    if (!earlier) log.warn('the earlier run cannot be read; following begins anew', { earlierRunId: runId });
    return earlier;
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('the earlier run does not answer; following begins anew', { earlierRunId: runId });
    return null;
  }
}

function takeOver(follow: Follow, left: RunLeft): void {
  const { input, trail, ...inbox } = goOnFrom(left, leftOf(follow));
  follow.input = input;
  follow.trail = trail;
  Object.assign(follow.inbox, inbox);
  // Nothing was told by this run yet, so its notifier may give way to one that knows all receivers.
  const { receivers } = follow.inbox;
  follow.notifier = createOrderNotifier({ receivers, told: null, notices: undefined, onUndelivered: follow.show });
}

/** A read that a caller waits for is answered by this run; one that a delivery wants, the next run makes. */
const isLong = ({ inbox, limits }: Follow): boolean => inbox.refreshing === 0 && isHistoryLong(limits.maxEvents);

const mustContinue = (follow: Follow): boolean =>
  !isOver(follow) && (isLong(follow) || hasTooManySignals(follow.inbox, follow.limits));

type FollowOrder = (input: FollowOrderInput, progress: FollowOrderProgress) => Promise<OrderTrail>;

/** Continues as new when the run has grown long, unless a caller asks for something that this run must answer. */
export async function continueIfLong(follow: Follow): Promise<void> {
  if (!mustContinue(follow)) return;
  const { inbox, notifier } = follow;
  await notifier.urls.hush();
  inbox.closing = hasTooManySignals(inbox, follow.limits);
  await condition(() => !mustContinue(follow) || (allHandlersFinished() && notifier.isQuiet()));
  inbox.closing = false;
  if (!mustContinue(follow)) return notifier.urls.resume();
  const { input, limits, trail, startedAt, notBefore } = follow;
  await continueAsNew<FollowOrder>(input, {
    limits,
    carried: { trail, startedAt, notBefore, inbox: carryInbox(inbox), ...carryNotices(notifier.urls) },
  });
}
