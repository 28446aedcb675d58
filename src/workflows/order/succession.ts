import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { FollowOrderInput } from '../../domain/order/input.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import { hasTooManySignals, isReadWanted } from '../delivery-inbox.js';
import { isHistoryLong } from '../run-kit.js';
import { type Follow, type FollowOrderProgress, isOver, leftBy } from './state.js';

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
  inbox.closing = hasTooManySignals(inbox, follow.limits);
  await condition(() => !mustContinue(follow) || (allHandlersFinished() && notifier.isQuiet()));
  inbox.closing = false;
  if (!mustContinue(follow)) return;
  const { input, limits, startedAt, notBefore, deliveryReads } = follow;
  const watched = follow.watched?.isTaken ? follow.watched : null;
  const readWanted = isReadWanted(inbox);
  await continueAsNew<FollowOrder>(input, {
    limits,
    left: leftBy(follow),
    carried: { startedAt, notBefore, readWanted, deliveryReads, watched, notifier: notifier.carry() },
  });
}
