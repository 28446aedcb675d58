import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  isCancellation,
  log,
  patched,
  sleep,
} from '@temporalio/workflow';
import type { DeliveryNotice } from '../../domain/delivery.js';
import { notRead } from '../../domain/errors.js';
import { parseNoInput } from '../../domain/input-fields.js';
import { maxReceivers, withDeliveries, withObservation, withRequest } from '../../domain/order/earlier-run.js';
import { type FollowOrderInput, parseReasonInput, readFollowRequest } from '../../domain/order/input.js';
import {
  expiresAt,
  type OrderObservation,
  type OrderTrail,
  scheduledAt,
  seenBy,
  toOrderChange,
  withoutDriver,
} from '../../domain/order/trail.js';
import type { NextFinding } from '../../domain/watch.js';
import { isRideReceiver } from '../../domain/workflow-ids.js';
import { listenToDeliveries } from '../delivery-inbox.js';
import { followRequestedSignal, orderTrailQuery, refreshOrderUpdate, stopFollowingUpdate } from '../messages.js';
import { onUpdate, runBeside, setHandler, unless } from '../run-kit.js';
import { joinWatch, listenToEarlierWatch } from './earlier-release.js';
import { pendReadings, tellPickup } from './next-reading.js';
import { mustRead, type OrderRead, readOrder, vouchingFor } from './reads.js';
import {
  continueIfLong,
  countChange,
  countEnd,
  type Follow,
  type FollowOrderProgress,
  isOver,
  mustContinue,
  openFollow,
  showPickup,
  showTrail,
} from './state.js';

export type { FollowOrderLimits, FollowOrderProgress } from './state.js';

/**
 * Follows one order until it ends at the service, and returns its trail. History grows with changes, not with polls (I6).
 * Fails with `InvalidInput` (names the field) and `OrderNotFound` (the service does not know the order).
 */
export async function followOrder(input: FollowOrderInput, progress?: FollowOrderProgress): Promise<OrderTrail> {
  const follow = openFollow(input, progress);
  listen(follow);
  try {
    watchExpiry(follow);
    if (follow.pends) pendReadings(follow, (found) => recordFinding(follow, found));
    while (!isOver(follow)) {
      if (!follow.pends) joinWatch(follow);
      if (mustRead(follow)) await read(follow);
      else await rest(follow);
      await continueIfLong(follow);
    }
    return await close(follow);
  } catch (error) {
    if (isCancellation(error)) await tellRides(follow);
    throw error;
  } finally {
    forgetDriver(follow);
  }
}

/** Registers all handlers. Must run before the first await of the run. */
function listen(run: Follow): void {
  const { inbox } = run;
  setHandler(orderTrailQuery, () => run.trail);
  listenToEarlierWatch(run);
  listenToDeliveries(inbox, (deliveries) => recordDeliveries(run, deliveries));
  setHandler(followRequestedSignal, (request) => {
    inbox.signals += 1;
    addRequest(run, request);
  });
  onUpdate(refreshOrderUpdate, parseNoInput, async () => {
    inbox.asked += 1;
    inbox.refreshing = inbox.asked;
    const mine = inbox.asked;
    await condition(() => inbox.served >= mine || inbox.closing);
    const { failedRead } = inbox;
    if (failedRead && mine <= failedRead.upTo) {
      const { code, message } = failedRead.attention;
      throw ApplicationFailure.nonRetryable(`The order could not be read: ${message}`, notRead, { code });
    }
    // An order that has ended at the service is final: one more read would change nothing.
    if (inbox.served >= mine || run.trail.terminal) return run.trail;
    throw ApplicationFailure.nonRetryable(
      'The run ended, or gave way to the next one, before this read. Ask again.',
      notRead,
    );
  });
  onUpdate(stopFollowingUpdate, parseReasonInput, async ({ reason }) => {
    inbox.stopReason ??= reason;
    await condition(() => inbox.ended);
    return run.trail;
  });
}

/** Changes nothing if the run knows all of it already. */
function addRequest(run: Follow, given: unknown): void {
  const { inbox } = run;
  const { request, problems } = readFollowRequest(given);
  if (problems.length > 0) log.warn('left out of followRequested', { problems: problems.slice(0, 10) });
  const { input, trail, receivers } = withRequest({ ...inbox, input: run.input, trail: run.trail }, request);
  if (receivers.length === maxReceivers) log.warn('the run takes no more receivers', { receivers: maxReceivers });
  const newcomers = receivers.slice(inbox.receivers.length);
  const pickup = scheduledAt(run.input, run.trail);
  Object.assign(run, { input, trail });
  if (run.pends && trail.status !== null && scheduledAt(input, trail) !== pickup) {
    tellPickup(run);
    showPickup(run);
  }
  inbox.receivers.push(...newcomers);
  if (newcomers.length > 0) run.notifier.add(newcomers, run.trail);
  run.notifier.tellNewsOfStore(run.trail);
  run.show();
}

function recordDeliveries(run: Follow, deliveries: DeliveryNotice[]): void {
  const { trail, ...recorded } = withDeliveries({ ...run.inbox, trail: run.trail }, deliveries);
  run.trail = trail;
  Object.assign(run.inbox, recorded);
}

/** Also of a run that is cancelled, fails or continues as new, since it answers queries after its end. */
function forgetDriver(follow: Follow): void {
  follow.trail = withoutDriver(follow.trail);
  follow.show();
}

/** Keeps one timer: an earlier pick-up replaces it, and after a later pick-up another timer runs for the rest. */
function watchExpiry(follow: Follow): void {
  const endsAt = (): number => expiresAt(follow.input, follow.trail, follow.startedAt);
  const summary = 'Stop following if the order has not ended';
  const watch = async (): Promise<void> => {
    for (let end = endsAt(); end > Date.now(); end = endsAt()) {
      await unless(
        () => endsAt() < end,
        () => sleep(end - Date.now(), { summary }),
      );
    }
    follow.isExpired = true;
  };
  runBeside(watch());
}

type FailedRead = Extract<OrderObservation, { kind: 'trouble' }>;

const mustLeave = (follow: Follow): boolean => isOver(follow) || mustContinue(follow);

/** Waits for a hint: a delivery, a caller, or the watch of the account. */
async function rest(follow: Follow): Promise<void> {
  const { input } = follow; // with the pick-up time, of which the watch must know
  await condition(() => mustRead(follow) || mustLeave(follow) || follow.input !== input);
}

async function read(follow: Follow): Promise<void> {
  const look = await readOrder(follow, () => mustLeave(follow));
  if (look) await record(follow, look);
}

/** Records what the watch has found, which answers neither deliveries nor callers: its poll may have come before them. */
function recordFinding(follow: Follow, found: NextFinding): void {
  follow.findings += 1;
  if (found.kind === 'reading') follow.unchangedAt = found.unchangedAt;
  recordRead(follow, { seen: seenNow(found), claims: [], serves: follow.inbox.served });
}

const seenNow = (seen: OrderObservation): OrderObservation => seenBy(new Date().toISOString(), seen);

async function record(follow: Follow, read: OrderRead): Promise<void> {
  const seen = seenNow(read.seen);
  if (seen.kind === 'trouble' && seen.brief) return answerUnread(follow, seen, read.serves);
  recordRead(follow, { ...read, seen });
  if (seen.kind === 'reading') follow.readAt = Date.now();
  // The deliveries and callers that it served still want a reading.
  if (seen.kind === 'trouble' && follow.pends) follow.inbox.asked += 1;
  if (seen.kind === 'unknownOrder') await failAsUnknown(follow);
}

function recordRead(follow: Follow, { seen, serves, ...read }: OrderRead): void {
  const { inbox, trail: before } = follow;
  const isReading = seen.kind === 'reading';
  // No read follows an end, so it answers the deliveries that have come meanwhile, too.
  const claims = isReading && seen.reading.terminal ? inbox.claims : read.claims;
  if (isReading && seen.stores) follow.notifier.addStore(before);
  const recorded = withObservation({ trail: before, claims: inbox.claims }, seen, claims);
  follow.trail = recorded.trail;
  inbox.claims = recorded.claims;
  countChange(before, follow, claims);
  follow.notBefore = seen.kind === 'trouble' ? seen.notBefore : null;
  if (isReading) follow.unchangedAt = seen.at;
  inbox.served = serves;
  showTrail(follow, claims.length > 0 ? 'delivery' : 'read');
  // Trouble hides a concern, which may last.
  if (seen.kind !== 'trouble') follow.notifier.tell(follow.trail);
}

/** A read for a caller failed. The caller gets the trouble; the run shows none until it has lasted, and reads again. */
function answerUnread(follow: Follow, { attention, reads, brief }: FailedRead, serves: number): void {
  const { inbox, trail } = follow;
  follow.trail = { ...trail, reads: trail.reads + reads };
  inbox.failedRead = { upTo: serves, attention };
  inbox.served = serves;
  inbox.asked += 1;
  follow.streak = brief ?? null;
}

/** The run goes on if a delivery or a ride names the order at the last moment, or a caller stops the following. */
async function failAsUnknown(follow: Follow): Promise<void> {
  const { received } = follow.trail.deliveries;
  const isUnnamed = (): boolean =>
    vouchingFor(follow) !== 'rideOrRead' && follow.trail.deliveries.received === received;
  if (!(await leave(follow, () => isUnnamed() && !isOver(follow)))) return;
  countEnd(follow.trail);
  const { account, orderId } = follow.input;
  const message = `The service does not know order ${orderId} at account ${account}. Check the id and the account.`;
  throw ApplicationFailure.nonRetryable(message, 'OrderNotFound');
}

/**
 * A cancelled run sends no last notice, so it signals its rides: otherwise they detect the end up to half an hour
 * later.
 */
async function tellRides({ input: { account }, trail, inbox, notifier }: Follow): Promise<void> {
  const rides = inbox.receivers.filter((receiver) => isRideReceiver(receiver, account));
  if (rides.length > 0 && patched('cancelled-order-tells-ride'))
    notifier.signal(rides, { ...toOrderChange(trail), ended: true });
  await notifier.settled();
}

async function close(follow: Follow): Promise<OrderTrail> {
  if (!follow.trail.terminal) {
    const outcome = follow.inbox.stopReason === null ? 'expired' : 'stopped';
    follow.trail = withoutDriver({ ...follow.trail, outcome });
  }
  countEnd(follow.trail);
  showTrail(follow, 'read');
  follow.notifier.tell(follow.trail);
  follow.inbox.ended = true;
  await leave(follow, () => true);
  return follow.trail;
}

/** Answers all waiting callers and tells the last notice. False: the run must go on. */
async function leave({ inbox, notifier }: Follow, mayEnd: () => boolean): Promise<boolean> {
  inbox.closing = true;
  await condition(() => !mayEnd() || (allHandlersFinished() && notifier.isQuiet()));
  inbox.closing = mayEnd();
  return inbox.closing;
}
